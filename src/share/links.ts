import { ipVersion } from '../ip/ip-version.ts';
import { formatEndpoint } from '../net/addresses/address.ts';
import {
  ShareError,
  VMESS_CIPHER,
  type SharedAccess,
  type SharedCarrier,
  type SharedLogin,
  type SharedServer,
  type SharedStream,
  type SharedTls,
} from './shared-server.ts';

/**
 * The share link of a server, in the form that most clients read: XTLS/Xray-core discussion 716 for VLESS and Trojan,
 * v2rayN's JSON for VMess, SIP002 and SIP022 for Shadowsocks, hysteria's URI scheme, v2rayN's form for SOCKS, and a
 * proxy URL for HTTP.
 *
 * A certificate that no authority vouches for is pinned by its hash, where the link has a parameter for that: `pcs` of
 * discussion 716, which VMess has in that form alone, and hysteria's `pinSHA256`.
 *
 * @throws {ShareError} where no client has a form for it
 */
export function shareLink(server: SharedServer): string {
  const { access } = server;
  switch (access.protocol) {
    case 'vless':
      return url(server, 'vless', access.id, [
        ['encryption', 'none'],
        ...streamQuery(access.stream),
      ]);
    case 'trojan':
      if (access.password === '') throw new ShareError('the password is empty');
      return url(server, 'trojan', encoded(access.password), streamQuery(access.stream));
    case 'vmess':
      return pinOf(access.stream.tls) !== undefined
        ? url(server, 'vmess', access.id, [
            ['encryption', VMESS_CIPHER],
            ...streamQuery(access.stream),
          ])
        : vmessLink(server, access);
    case 'shadowsocks':
      return url(server, 'ss', shadowsocksUser(access.method, access.password));
    case 'hysteria2':
      return url(server, 'hysteria2', encodedPair(access.auth), hysteria2Query(access), '/');
    case 'socks':
      return url(server, 'socks', access.login && socksUser(access.login));
    case 'http':
      return httpLink(server, access.login, access.stream);
    default:
      return access satisfies never;
  }
}

type Query = readonly (readonly [key: string, value: string | undefined])[];

function url(
  { host, port, name }: SharedServer,
  scheme: string,
  user: string | undefined,
  query: Query = [],
  path = '',
): string {
  const parameters = query
    .flatMap(([key, value]) => (value === undefined ? [] : [`${key}=${encoded(value)}`]))
    .join('&');
  const credentials = user === undefined ? '' : `${user}@`;
  const asked = parameters === '' ? '' : `?${parameters}`;
  return `${scheme}://${credentials}${formatEndpoint({ host, port })}${path}${asked}#${encoded(name)}`;
}

function streamQuery({ tls, carrier }: SharedStream): Query {
  const security: Query = [
    ['security', tls ? 'tls' : 'none'],
    ...(tls ? tlsQuery(tls, carrier) : []),
    ['pcs', pinOf(tls)],
  ];
  switch (carrier.kind) {
    case 'raw':
      return [...security, ['type', 'tcp']];
    case 'ws':
      return [...security, ['type', 'ws'], ['path', carrier.path], ['host', carrier.host]];
    case 'grpc':
      return [
        ...security,
        ['type', 'grpc'],
        ['serviceName', carrier.serviceName],
        ['mode', 'gun'],
        ['authority', carrier.authority],
      ];
    default:
      return carrier satisfies never;
  }
}

const tlsQuery = (tls: SharedTls, carrier?: SharedCarrier): Query => [
  ['sni', sniOf(tls, carrier)],
  ['allowInsecure', tls.insecure ? '1' : undefined],
];

/** The hash to pin in place of a chain to an authority; `undefined` if there is none. */
const pinOf = (tls: SharedTls | undefined): string | undefined =>
  tls?.insecure === true ? undefined : tls?.certificate?.sha256;

/**
 * The SNI of a link. An IP address is not valid SNI (RFC 6066 §3): clients verify the address that they connect to.
 * Beside the Host of a WebSocket it is written anyway, since clients would otherwise use that as the name.
 */
const sniOf = ({ serverName }: SharedTls, carrier?: SharedCarrier): string | undefined =>
  ipVersion(serverName) === 0 || (carrier?.kind === 'ws' && carrier.host !== undefined)
    ? serverName
    : undefined;

type VmessAccess = Extract<SharedAccess, { readonly protocol: 'vmess' }>;

/** A VMess link with version 2 of v2rayN's JSON, in which all values are text. */
function vmessLink({ name, host, port }: SharedServer, { id, stream }: VmessAccess): string {
  const { tls, carrier } = stream;
  const transport = {
    raw: { net: 'tcp', type: 'none', host: '', path: '' },
    ws: { net: 'ws', type: 'none', host: '', path: '' },
    grpc: { net: 'grpc', type: 'gun', host: '', path: '' },
  }[carrier.kind];
  const fields = {
    v: '2',
    ps: name,
    add: host,
    port: String(port),
    id,
    aid: '0',
    scy: VMESS_CIPHER,
    ...transport,
    ...(carrier.kind === 'ws' ? { path: carrier.path, host: carrier.host ?? '' } : {}),
    ...(carrier.kind === 'grpc' ? { path: carrier.serviceName } : {}),
    ...(carrier.kind === 'grpc' && carrier.authority !== undefined
      ? { authority: carrier.authority }
      : {}),
    tls: tls ? 'tls' : '',
    sni: (tls && sniOf(tls, carrier)) ?? '',
    alpn: '',
    fp: '',
    ...(tls?.insecure === true ? { insecure: '1' } : {}),
  };
  return `vmess://${base64(JSON.stringify(fields))}`;
}

/** Username and password in v2rayN's base64, with the two characters replaced that have a meaning in a URL. */
const socksUser = (login: SharedLogin): string =>
  base64(pairOf(login)).replaceAll('+', '-').replaceAll('/', '_');

/** Method and password of SIP002: base64url without padding; for a 2022 method percent-encoded (SIP022 §2.4). */
const shadowsocksUser = (method: string, password: string): string =>
  method.startsWith('2022-')
    ? `${encoded(method)}:${encoded(password)}`
    : Buffer.from(`${method}:${password}`).toString('base64url');

/**
 * The query of a Hysteria 2 link. hysteria checks a pin in addition to the chain, so a self-signed certificate needs
 * `insecure` as well.
 */
const hysteria2Query = ({
  tls,
  obfuscation,
}: Extract<SharedAccess, { readonly protocol: 'hysteria2' }>): Query => [
  ['sni', sniOf(tls)],
  ['insecure', tls.insecure || tls.certificate ? '1' : undefined],
  ['pinSHA256', pinOf(tls)],
  ['obfs', obfuscation === undefined ? undefined : 'salamander'],
  ['obfs-password', obfuscation],
];

function httpLink(
  server: SharedServer,
  login: SharedLogin | undefined,
  { tls, carrier }: SharedStream,
): string {
  if (carrier.kind !== 'raw') throw new ShareError('HTTP over WebSocket or gRPC has no link');
  const user = login && `${encoded(login.user)}:${encoded(login.pass)}`;
  return url(server, tls ? 'https' : 'http', user, tls ? tlsQuery(tls) : []);
}

function pairOf({ user, pass }: SharedLogin): string {
  if (user.includes(':')) throw new ShareError('its user has a colon, where clients divide');
  return `${user}:${pass}`;
}

/** Percent-encodes a text around its first colon, which clients look for before they decode. */
function encodedPair(text: string): string {
  const colon = text.indexOf(':');
  return colon < 0
    ? encoded(text)
    : `${encoded(text.slice(0, colon))}:${encoded(text.slice(colon + 1))}`;
}

/** Percent-encodes all but the unreserved characters of RFC 3986, so that a link is one word anywhere. */
const encoded = (text: string): string =>
  encodeURIComponent(text.toWellFormed()).replaceAll(
    /[!'()*]/g,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
  );

const base64 = (text: string): string => Buffer.from(text).toString('base64');
