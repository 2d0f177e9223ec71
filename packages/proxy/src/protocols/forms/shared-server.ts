import { WeirError } from '@weir/base';
import type { StreamDraft, Settings } from './draft.ts';

/** How a client verifies a server. */
export interface SharedTls {
  /** Sent as SNI unless it is an IP address, and verified. */
  readonly serverName: string;
  /** Whether the client accepts any certificate. */
  readonly insecure: boolean;
  /** The server's own certificate, where no public authority vouches for it. */
  readonly certificate: PinnedCertificate | undefined;
}

export interface PinnedCertificate {
  /** The certificate alone, without its chain. */
  readonly pem: string;
  /** SHA-256 digest of its DER form, 64 lower-case hex digits. */
  readonly sha256: string;
}

/** TLS and carrier below the protocol, as a client configures them. */
export interface SharedStream {
  readonly tls: SharedTls | undefined;
  readonly carrier: SharedCarrier;
}

export type SharedCarrier =
  | { readonly kind: 'raw' }
  /** `host` is the header that the server requires, or that its address does. */
  | { readonly kind: 'ws'; readonly path: string; readonly host: string | undefined }
  | { readonly kind: 'grpc'; readonly serviceName: string; readonly authority: string | undefined };

/** A server's protocol with the credentials of one user. */
export interface SharedAccess<Login = Settings> {
  readonly protocol: string;
  /** The keys of `[outbound.settings]` that log the user in. */
  readonly settings: Login;
  /** The layers below a protocol that has `[outbound.stream]`. */
  readonly stream?: SharedStream;
  /** TLS of a protocol that has it in its settings. */
  readonly tls?: SharedTls;
}

/** An access to a protocol over a stream. */
export interface StreamAccess<Login = Settings> extends SharedAccess<Login> {
  readonly stream: SharedStream;
}

/** A server with everything that a client needs, which is the content of a share link. */
export interface SharedServer<Access extends SharedAccess = SharedAccess> {
  /** Name of the server in a client's list. */
  readonly name: string;
  /** A name in ASCII, or an address; IPv6 without brackets. */
  readonly host: string;
  readonly port: number;
  readonly access: Access;
}

/** Why something cannot be shared; the message has no secrets. */
export class ShareError extends WeirError {
  constructor(message: string) {
    super('share', message);
  }
}

/** A user of an inbound, with the settings that the user's client needs. */
export interface SharedUser {
  /**
   * The label; without one the start of a UUID, or `#` and the number in the list, from 1. `undefined` where
   * all clients have the same credentials, or none.
   */
  readonly name: string | undefined;
  /** Further names by which the user can be selected. */
  readonly aliases: readonly string[];
  readonly access: SharedAccess;
}

/** The layers below the protocol of an inbound. */
export interface Below {
  readonly stream: SharedStream;
  readonly tls: SharedTls | undefined;
}

/** A user with its name and aliases. @param names in order of preference; the first that is not empty is the name */
export function namedUser(
  index: number,
  names: readonly (string | undefined)[],
): Pick<SharedUser, 'name' | 'aliases'> {
  const number = String(index + 1);
  const [name, ...aliases] = [...names, `#${number}`, number]
    .filter((each) => each !== undefined)
    .filter((each) => each !== '');
  return { name, aliases };
}

/** All clients of an inbound that does not distinguish them. */
export const UNNAMED_USER = { name: undefined, aliases: [] } as const;

/** The stream of an outbound of Weir. @param caFile the path of the server's own certificate on the client */
export function draftedStream(
  { tls, carrier }: SharedStream,
  caFile: string | undefined,
): StreamDraft | undefined {
  const table = tls && draftedTls(tls, caFile);
  const below = { security: tls ? 'tls' : undefined, tls: table } as const;
  switch (carrier.kind) {
    case 'raw':
      return tls && { network: 'tls', tls: table };
    case 'ws':
      return { network: 'ws', ...below, ws: { path: carrier.path, host: carrier.host } };
    case 'grpc': {
      const { serviceName, authority } = carrier;
      return { network: 'grpc', ...below, grpc: { service_name: serviceName, authority } };
    }
    default:
      return carrier satisfies never;
  }
}

/** TLS of an outbound of Weir. */
export const draftedTls = (
  { serverName, insecure, certificate }: SharedTls,
  caFile: string | undefined,
): Settings => ({
  server_name: serverName,
  allow_insecure: insecure ? true : undefined,
  ca_file: certificate && !insecure ? caFile : undefined,
});
