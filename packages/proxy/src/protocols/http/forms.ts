import * as clash from '../forms/clash.ts';
import { defineForms } from '../forms/contract.ts';
import { streamOf } from '../forms/draft.ts';
import { encoded, Link, linkText, readLink, tlsQuery } from '../forms/link.ts';
import {
  accountIn,
  type Login,
  loginForm,
  loginIn,
  loginsOf,
  namedProxyDraft,
  proxyDraft,
} from '../forms/users.ts';
import { type SharedServer, ShareError, type StreamAccess } from '../forms/shared-server.ts';
import * as singBox from '../forms/sing-box.ts';
import * as xray from '../forms/xray.ts';
import type { HttpInboundSettings } from './settings.ts';

type HttpAccess = StreamAccess<Login>;

const HTTP_URL = /^https?:\/\//i;
const TLS_PARAMETERS: ReadonlySet<string> = new Set(['sni', 'peer', 'allowInsecure', 'insecure']);

/**
 * Whether a URL is the link of an HTTP proxy: it has a port or a user, and neither a path nor parameters other than
 * those of TLS. Any other URL is the address of a document.
 */
export function isHttpProxy(line: string): boolean {
  if (!HTTP_URL.test(line) || !URL.canParse(line)) return false;
  const { pathname } = new URL(line);
  const link = new Link(line);
  return (
    (link.user !== '' || link.hasPort) &&
    pathname === '/' &&
    link.query.keys.every((key) => TLS_PARAMETERS.has(key))
  );
}

function write(server: SharedServer<HttpAccess>): string {
  const { settings, stream } = server.access;
  const { tls, carrier } = stream;
  if (carrier.kind !== 'raw') throw new ShareError('HTTP over WebSocket or gRPC has no link');
  const account = accountIn(settings);
  const user = account && `${encoded(account.user)}:${encoded(account.pass)}`;
  return linkText(server, tls ? 'https' : 'http', user, tls ? tlsQuery(tls) : []);
}

/** @throws {ShareError} for an HTTP proxy over another carrier */
function refuseCarrier({ stream }: HttpAccess, program: string): void {
  if (stream.carrier.kind !== 'raw') {
    throw new ShareError(`${program} has no HTTP over WebSocket or gRPC`);
  }
}

export const httpForms = defineForms<HttpAccess>({
  link: {
    schemes: ['http', 'https'],
    isServer: isHttpProxy,
    read: readLink((link) =>
      namedProxyDraft(
        'http',
        link.place,
        link.scheme === 'https' ? streamOf({ kind: '' }, link.tls) : undefined,
        loginIn(link.credentials),
      ),
    ),
    write,
  },
  singBox: {
    type: 'http',
    read: (fields, name) =>
      namedProxyDraft('http', singBox.serverIn(fields, name), singBox.streamIn(fields), {
        user: fields.text('username'),
        pass: fields.text('password'),
      }),
    write(access) {
      refuseCarrier(access, 'sing-box');
      return { ...loginForm(access.settings), ...singBox.streamForm(access.stream) };
    },
  },
  clash: {
    type: 'http',
    read: (fields, name) =>
      namedProxyDraft(
        'http',
        clash.serverIn(fields, name),
        clash.streamIn(fields, fields.flag('tls')),
        { user: fields.text('username'), pass: fields.text('password') },
      ),
    write(access) {
      refuseCarrier(access, 'Clash');
      return { ...loginForm(access.settings), ...clash.streamForm(access.stream, 'sni') };
    },
  },
  xray: {
    protocol: 'http',
    read(settings, name, outbound) {
      const server = xray.serverOf(settings, 'servers');
      const user = xray.userOf(server);
      return proxyDraft('http', xray.placeOf(server, name), xray.streamIn(outbound), {
        user: user.text('user'),
        pass: user.text('pass'),
      });
    },
    write({ settings, stream }, place) {
      const account = accountIn(settings);
      return {
        settings: { servers: [{ ...place, ...(account && { users: [account] }) }] },
        ...xray.streamForm(stream),
      };
    },
  },
  clashApi: { outbound: 'Http', inbound: 'HTTP', streamsOnly: true },
  user: {
    lists: ['accounts'],
    name: 'user',
    secret: 'pass',
    refusedName: (name) =>
      name.includes(':') ? 'the protocol ends the name at the first ":"' : undefined,
    onAdd: (inbound, _settings, isFirst) =>
      isFirst
        ? { kind: 'note', message: `${inbound} was open to everybody and now asks for an account` }
        : undefined,
    onRemoveLast: (inbound) => ({
      kind: 'forced',
      message: `without its last account, ${inbound} is open to everybody`,
    }),
  },
  sharedUsers: ({ accounts }: HttpInboundSettings, { protocol, stream }) =>
    loginsOf(accounts, (settings) => ({ protocol, settings, stream })),
  generated: {
    port: 2087,
    network: 'TCP',
    access: (user, tls, secrets) => ({
      protocol: 'http',
      settings: { user, pass: secrets.password() },
      stream: { tls, carrier: { kind: 'raw' } },
    }),
    settings: ({ settings: { user, pass } }) => [
      'accounts = [',
      `  { user = ${JSON.stringify(user)}, pass = ${JSON.stringify(pass)} },`,
      ']',
    ],
  },
});
