import {
  ImportError,
  type Settings,
  type StreamDraft,
  streamOf,
  type Transport,
} from '@weir/proxy/protocols/forms';
import type { InboundDraft } from './routing.ts';

/*
 * Creates inbounds from the data that the documents of sing-box and Xray contain. A conversion that would admit other
 * clients than the document, or none, is rejected here.
 */

/** The address of an inbound, and its name in the document. */
export type NamedListener = Pick<InboundDraft, 'name' | 'tag' | 'listen' | 'port' | 'sniffing'>;

/** A client of a local proxy. */
export interface ProxyAccount {
  readonly user: string;
  readonly pass: string;
}

/** The accounts of a SOCKS or an HTTP server, if there are any. */
export const accountSettings = (accounts: readonly ProxyAccount[]): InboundDraft['settings'] =>
  accounts.length === 0 ? {} : { accounts: accounts.map((each) => ({ ...each })) };

/** A SOCKS server; without accounts it is open to every client that reaches it. */
export const socksServer = (
  place: NamedListener,
  accounts: readonly ProxyAccount[],
  more: Settings = {},
): InboundDraft => ({
  ...place,
  protocol: 'socks',
  settings: {
    ...(accounts.length > 0 && { auth: 'password' }),
    ...accountSettings(accounts),
    ...more,
  },
});

/** An HTTP server. @throws {ImportError} for a user name with a colon */
export function httpServer(
  place: NamedListener,
  stream: StreamDraft | undefined,
  accounts: readonly ProxyAccount[],
  more: Settings = {},
): InboundDraft {
  if (accounts.some(({ user }) => user.includes(':'))) {
    throw new ImportError('a user name has a colon, which HTTP cannot send');
  }
  return {
    ...place,
    protocol: 'http',
    stream,
    settings: { ...accountSettings(accounts), ...more },
  };
}

/** A user of VLESS or VMess. */
interface UuidUser {
  readonly id: string;
  readonly flow?: string | undefined;
  readonly alterId?: string | undefined;
  readonly name?: string | undefined;
}

/** A VLESS or VMess server. @throws {ImportError} for a user whose clients Weir could not serve */
export function uuidServer(
  protocol: 'vless' | 'vmess',
  place: NamedListener,
  stream: StreamDraft | undefined,
  users: readonly UuidUser[],
): InboundDraft {
  for (const { flow = '', alterId = '' } of users) {
    if (flow !== '') {
      throw new ImportError(`the VLESS flow ${JSON.stringify(flow)} is not supported`);
    }
    if (Number(alterId) !== 0) throw new ImportError('VMess with an alterId is not supported');
  }
  return {
    ...place,
    protocol,
    stream,
    settings: { users: users.map(({ id }) => ({ id })) },
    userNames: users.map(({ name }) => name),
  };
}

/**
 * Changes that clients of a VMess server need: sing-box sends the body unencrypted when it has TLS and `security` is
 * `auto`.
 */
export const vmessNotes = ({ stream }: InboundDraft): readonly string[] =>
  stream?.network === 'tls' || stream?.security === 'tls' ? [UNSEALED_BODIES] : [];

const UNSEALED_BODIES =
  'clients that encrypt by TLS alone, as sing-box does with "security": "auto", are refused: set "aes-128-gcm" in them';

/** A user with a password, and a label that stays on the server. */
export interface PasswordUser {
  readonly password: string;
  readonly label?: string | undefined;
}

export const trojanServer = (
  place: NamedListener,
  stream: StreamDraft | undefined,
  users: readonly PasswordUser[],
): InboundDraft => ({
  ...place,
  protocol: 'trojan',
  stream,
  settings: { users: users.map(labelled) },
});

const labelled = ({ password, label }: PasswordUser): Settings => ({
  password,
  ...(label !== undefined && label !== '' && { email: label }),
});

/** A Shadowsocks server. @throws {ImportError} without a password of any kind */
export function shadowsocksServer(
  place: NamedListener,
  method: string,
  password: string | undefined,
  users: readonly PasswordUser[],
): InboundDraft {
  const isShared = users.length === 0;
  if (password === undefined && (isShared || method.startsWith('2022-'))) {
    throw new ImportError('it has no "password"');
  }
  return {
    ...place,
    protocol: 'shadowsocks',
    settings: {
      method,
      // The older methods do not use it in addition to users, but require it.
      password: password ?? '',
      ...(isShared ? {} : { users: users.map(labelled) }),
    },
  };
}

/** Paths of a TLS server's certificate and key. */
export interface CertificateFiles {
  readonly certFile: string;
  readonly keyFile: string;
}

/**
 * The stream table of a server.
 * @throws {ImportError} for an unsupported transport
 */
export function serverStream(
  transport: Transport,
  tls: CertificateFiles | undefined,
): StreamDraft | undefined {
  const stream = streamOf(transport, tls && {});
  if (!stream || !tls) return stream;
  return { ...stream, tls: { cert_file: tls.certFile, key_file: tls.keyFile } };
}

interface Hysteria2Listing {
  readonly tls: CertificateFiles;
  readonly users: readonly PasswordUser[];
  readonly obfs?: string | undefined;
  readonly obfsPassword?: string | undefined;
}

/**
 * A Hysteria 2 server. Clients of sing-box and Xray send only their password. Weir's users are sent as `user:pass`, so
 * several of them need passwords of that form.
 * @throws {ImportError} for users that Weir could not distinguish
 */
export function hysteria2Server(place: NamedListener, server: Hysteria2Listing): InboundDraft {
  const { tls, users, obfs, obfsPassword } = server;
  const [first, ...others] = users;
  if (!first) throw new ImportError('it has no users, so that it accepts any client');
  return {
    ...place,
    protocol: 'hysteria2',
    settings: {
      cert_file: tls.certFile,
      key_file: tls.keyFile,
      ...(others.length === 0 ? { password: first.password } : { users: users.map(pairOf) }),
      udp: true,
      obfs,
      obfs_password: obfsPassword,
    },
  };
}

function pairOf({ password, label }: PasswordUser): Settings {
  const colon = password.indexOf(':');
  if (colon <= 0) {
    throw new ImportError(
      'several users whose passwords are not of the form user:pass, which Weir could not tell apart',
    );
  }
  return {
    user: password.slice(0, colon),
    pass: password.slice(colon + 1),
    ...(label !== undefined && label !== '' && { email: label }),
  };
}

/** A TUN device. */
interface TunDraft {
  readonly name?: string | undefined;
  readonly mtu?: number | undefined;
  readonly address: readonly string[];
  readonly routes: readonly string[];
  readonly idleSeconds?: number | undefined;
}

/** The two halves of each family, which cover all addresses and leave the default route unchanged. */
export const ALL_ROUTES: readonly string[] = ['0.0.0.0/1', '128.0.0.0/1', '::/1', '8000::/1'];

export const tunDevice = (
  place: Pick<NamedListener, 'name' | 'tag' | 'sniffing'>,
  device: TunDraft,
): InboundDraft => ({
  ...place,
  protocol: 'tun',
  settings: {
    name: device.name === '' ? undefined : device.name,
    mtu: device.mtu,
    address: device.address,
    ...(device.routes.length > 0 && { routes: device.routes }),
    udp_idle_timeout: device.idleSeconds,
  },
});

/**
 * Drafts for SOCKS and HTTP on one port, which Weir serves on two: HTTP keeps the port, SOCKS gets the next free one.
 * @param taken the ports of the document; the new one is added
 */
export function mixedDrafts(
  base: Pick<InboundDraft, 'name' | 'tag' | 'listen' | 'sniffing'>,
  port: number,
  taken: Set<number>,
  settings: Readonly<Record<'socks' | 'http', InboundDraft['settings']>>,
): { readonly drafts: readonly InboundDraft[]; readonly notes: readonly string[] } {
  let other = port + 1;
  while (taken.has(other)) other++;
  if (other > 0xffff) throw new ImportError('there is no port after it for SOCKS');
  taken.add(other);
  const tagOf = (protocol: string): string =>
    base.tag === undefined ? `${base.name} ${protocol}` : protocol;
  return {
    drafts: [
      { ...base, tag: tagOf('http'), protocol: 'http', port, settings: settings.http },
      { ...base, tag: tagOf('socks'), protocol: 'socks', port: other, settings: settings.socks },
    ],
    notes: [`SOCKS and HTTP need a port each: HTTP keeps ${port}, SOCKS is on ${other}`],
  };
}
