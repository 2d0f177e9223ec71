import * as clash from '../forms/clash.ts';
import { defineForms } from '../forms/contract.ts';
import { ImportError } from '../forms/draft.ts';
import { linkText, placeFromBase64, placeIn, readLink } from '../forms/link.ts';
import {
  accountIn,
  divided,
  type Login,
  loginForm,
  loginIn,
  loginsOf,
  namedProxyDraft,
  pairOf,
  proxyDraft,
} from '../forms/users.ts';
import type { SharedAccess } from '../forms/shared-server.ts';
import * as singBox from '../forms/sing-box.ts';
import * as xray from '../forms/xray.ts';
import type { SocksInboundSettings } from './settings.ts';

type SocksAccess = SharedAccess<Login>;

/**
 * Decodes a link whose part before the parameters is base64 of `user:pass@host:port`, as in Shadowrocket and old
 * versions of v2rayN; any other link is returned unchanged.
 */
export function withPlainPlace(text: string): string {
  const { place: coded, rest } = placeIn(text);
  // Base64 before an `@` encodes only the login.
  const plain = coded.includes('@') ? undefined : placeFromBase64(coded);
  if (plain?.includes(':') !== true) return text;
  const at = plain.lastIndexOf('@');
  const { user, pass } = divided(plain.slice(0, Math.max(at, 0)));
  const login = [user, ...(pass === undefined ? [] : [pass])].map(encodeURIComponent).join(':');
  const place = at < 0 ? plain : `${login}@${plain.slice(at + 1)}`;
  return text.slice(0, text.indexOf('://') + 3) + place + rest;
}

const readPlain = readLink((link) =>
  namedProxyDraft('socks', link.place, undefined, loginIn(link.credentials)),
);

/** Username and password in v2rayN's base64, with the two characters replaced that have a meaning in a URL. */
function userInfo(login: Login): string | undefined {
  const account = accountIn(login);
  if (!account) return undefined;
  const text = Buffer.from(pairOf(account)).toString('base64');
  return text.replaceAll('+', '-').replaceAll('/', '_');
}

const asksForAccounts = (settings: ReadonlyMap<string, string>): boolean =>
  settings.get('auth') === 'password';

export const socksForms = defineForms<SocksAccess>({
  link: {
    schemes: ['socks', 'socks5', 'socks5h'],
    read: (text) => readPlain(withPlainPlace(text)),
    write: (server) => linkText(server, 'socks', userInfo(server.access.settings)),
  },
  singBox: {
    type: 'socks',
    read(fields, name) {
      const place = singBox.serverIn(fields, name);
      if (!['5', ''].includes(fields.text('version') ?? '')) {
        throw new ImportError('SOCKS 4 is not supported');
      }
      return namedProxyDraft('socks', place, singBox.streamIn(fields), {
        user: fields.text('username'),
        pass: fields.text('password'),
      });
    },
    write: ({ settings }) => ({ version: '5', ...loginForm(settings) }),
  },
  clash: {
    type: 'socks5',
    read: (fields, name) =>
      namedProxyDraft(
        'socks',
        clash.serverIn(fields, name),
        clash.streamIn(fields, fields.flag('tls')),
        { user: fields.text('username'), pass: fields.text('password') },
      ),
    write: ({ settings }) => ({ ...loginForm(settings), udp: true }),
  },
  xray: {
    protocol: 'socks',
    read(settings, name, outbound) {
      const server = xray.serverOf(settings, 'servers');
      const user = xray.userOf(server);
      return proxyDraft('socks', xray.placeOf(server, name), xray.streamIn(outbound), {
        user: user.text('user'),
        pass: user.text('pass'),
      });
    },
    write({ settings }, place) {
      const account = accountIn(settings);
      return { settings: { servers: [{ ...place, ...(account && { users: [account] }) }] } };
    },
  },
  clashApi: { outbound: 'Socks5', inbound: 'Socks5' },
  user: {
    lists: ['accounts'],
    name: 'user',
    secret: 'pass',
    onAdd: (inbound, settings) =>
      asksForAccounts(settings)
        ? undefined
        : {
            kind: 'note',
            message: `${inbound} does not ask for accounts, so it is open to everybody: it needs auth = "password"`,
          },
    onRemoveLast: (_inbound, settings) => (asksForAccounts(settings) ? undefined : 'unchanged'),
  },
  sharedUsers: ({ auth, accounts }: SocksInboundSettings, { protocol }) =>
    auth === 'password' && accounts.length === 0
      ? []
      : loginsOf(accounts, (settings) => ({ protocol, settings })),
});
