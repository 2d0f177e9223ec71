import * as clash from '../forms/clash.ts';
import { defineForms, type LinkReading, type SharedContext } from '../forms/contract.ts';
import { type Draft, ImportError, type NamedServer, type StreamDraft } from '../forms/draft.ts';
import {
  encoded,
  fromBase64,
  linkText,
  placeFromBase64,
  placeIn,
  readLink,
} from '../forms/link.ts';
import {
  namedUser,
  type SharedAccess,
  type SharedUser,
  UNNAMED_USER,
} from '../forms/shared-server.ts';
import * as singBox from '../forms/sing-box.ts';
import * as xray from '../forms/xray.ts';
import { tablesAt, textAt } from '../../schema/node.ts';
import { claims2022 } from './methods.ts';
import type { ShadowsocksInboundSettings } from './settings.ts';

/** The password of a 2022 method is a key in base64, or two with a colon between them. */
type ShadowsocksAccess = SharedAccess<{ readonly method: string; readonly password: string }>;

interface Account {
  readonly method: string;
  readonly password: string;
  readonly plugin?: string | undefined;
}

/** A Shadowsocks outbound. @throws {ImportError} for a plugin */
export function shadowsocksDraft(
  place: NamedServer,
  stream: StreamDraft | undefined,
  { method, password, plugin = '' }: Account,
): Draft {
  if (plugin !== '') {
    const name = plugin.split(';', 1)[0] ?? '';
    throw new ImportError(`the Shadowsocks plugin ${JSON.stringify(name)} is not supported`);
  }
  return { ...place, protocol: 'shadowsocks', stream, settings: { method, password } };
}

/** Reads a link: SIP002, or the older form that is base64 as a whole. */
function read(text: string): LinkReading {
  let link = text;
  const { place, rest } = placeIn(text);
  if (!place.includes('@')) {
    const plain = placeFromBase64(place);
    const at = plain?.lastIndexOf('@') ?? -1;
    if (plain === undefined || at < 0) throw new ImportError('neither SIP002 nor base64');
    link = `ss://${encodeURIComponent(plain.slice(0, at))}${plain.slice(at)}${rest}`;
  }
  return readSip002(link);
}

const readSip002 = readLink((link) => {
  const credentials = link.user.includes(':') ? link.user : (fromBase64(link.user) ?? '');
  const colon = credentials.indexOf(':');
  if (colon < 0) throw new ImportError('it has no method and password');
  return shadowsocksDraft(link.place, undefined, {
    method: credentials.slice(0, colon),
    password: credentials.slice(colon + 1),
    plugin: link.get('plugin'),
  });
});

/** Method and password of SIP002: base64url without padding; for a 2022 method percent-encoded (SIP022 §2.4). */
const userInfo = ({ method, password }: ShadowsocksAccess['settings']): string =>
  claims2022(method)
    ? `${encoded(method)}:${encoded(password)}`
    : Buffer.from(`${method}:${password}`).toString('base64url');

function sharedUsers(
  { method, key, users }: ShadowsocksInboundSettings,
  { protocol, written }: SharedContext,
): readonly SharedUser[] {
  const access = (password: string): ShadowsocksAccess => ({
    protocol,
    settings: { method, password },
  });
  // A 2022 key has its final length in the Spec, where a legacy one has been derived from a password.
  const is2022 = claims2022(method);
  if (users.length === 0) {
    const password = is2022 ? key : ((written && textAt(written, 'password')) ?? '');
    return [{ ...UNNAMED_USER, access: access(password) }];
  }
  const tables = written ? [...tablesAt(written, 'users'), ...tablesAt(written, 'clients')] : [];
  return users.map((user, index) => {
    const table = tables[index];
    const legacy = (table && textAt(table, 'password')) ?? '';
    return {
      ...namedUser(index, [user.email]),
      access: access(is2022 ? `${key}:${user.key}` : legacy),
    };
  });
}

const GENERATED_METHOD = '2022-blake3-aes-128-gcm';
const GENERATED_KEY_BYTES = 16;

export const shadowsocksForms = defineForms<ShadowsocksAccess>({
  link: {
    schemes: ['ss'],
    read,
    write: (server) => linkText(server, 'ss', userInfo(server.access.settings)),
  },
  singBox: {
    type: 'shadowsocks',
    read: (fields, name) =>
      shadowsocksDraft(singBox.serverIn(fields, name), undefined, {
        method: fields.needText('method'),
        password: fields.needText('password'),
        plugin: fields.text('plugin'),
      }),
    write: ({ settings: { method, password } }) => ({ method, password }),
  },
  clash: {
    type: 'ss',
    read: (fields, name) =>
      shadowsocksDraft(clash.serverIn(fields, name), undefined, {
        method: fields.needText('cipher'),
        password: fields.needText('password'),
        plugin: fields.text('plugin'),
      }),
    write: ({ settings: { method, password } }) => ({ cipher: method, password, udp: true }),
  },
  xray: {
    protocol: 'shadowsocks',
    read(settings, name, outbound) {
      const server = xray.serverOf(settings, 'servers');
      return shadowsocksDraft(xray.placeOf(server, name), xray.streamIn(outbound), {
        method: server.needText('method'),
        password: server.needText('password'),
      });
    },
    write: ({ settings: { method, password } }, place) => ({
      settings: { servers: [{ ...place, method, password }] },
    }),
  },
  clashApi: { outbound: 'Shadowsocks', inbound: 'ShadowSocks' },
  user: {
    lists: ['users', 'clients'],
    name: 'email',
    secret: 'password',
    onAdd: (inbound, _settings, isFirst) =>
      isFirst
        ? {
            kind: 'forced',
            message: `with its first user, ${inbound} no longer takes its single password: clients that use it are locked out`,
          }
        : undefined,
    onRemoveLast: (inbound) => ({
      kind: 'forced',
      message: `without its last user, ${inbound} lets in every client with its single password`,
    }),
  },
  sharedUsers,
  generated: {
    port: 8388,
    network: 'TCP and UDP',
    access(_user, _tls, secrets) {
      const [identity, own] = [0, 1].map(() => secrets.key(GENERATED_KEY_BYTES));
      return {
        protocol: 'shadowsocks',
        settings: { method: GENERATED_METHOD, password: `${identity}:${own}` },
      };
    },
    settings({ settings: { method, password } }, { user }) {
      const [identity = '', own = ''] = password.split(':');
      return [
        `method = ${JSON.stringify(method)}`,
        `password = ${JSON.stringify(identity)}   # of the server`,
        'users = [',
        `  { password = ${JSON.stringify(own)}, email = ${JSON.stringify(user)} },`,
        ']',
      ];
    },
  },
});
