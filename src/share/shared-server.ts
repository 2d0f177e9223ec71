import { WeirError } from '../errors.ts';

/** How a client verifies a server. */
export interface SharedTls {
  /** Sent as SNI unless it is an IP address, and verified. */
  readonly serverName: string;
  /** Whether the client is to accept any certificate. */
  readonly insecure: boolean;
  /** The server's own certificate, where no public authority vouches for it. */
  readonly certificate: PinnedCertificate | undefined;
}

export interface PinnedCertificate {
  /** One certificate. */
  readonly pem: string;
  /** The digest of its DER form, 64 lower-case hex digits. */
  readonly sha256: string;
}

/** What is below the protocol, as a client needs it. */
export interface SharedStream {
  readonly tls: SharedTls | undefined;
  readonly carrier: SharedCarrier;
}

export type SharedCarrier =
  | { readonly kind: 'raw' }
  /** `host` is the header that the server, or the address of the server, demands. */
  | { readonly kind: 'ws'; readonly path: string; readonly host: string | undefined }
  | { readonly kind: 'grpc'; readonly serviceName: string; readonly authority: string | undefined };

/** The protocol of a server with the credentials of one user. */
export type SharedAccess =
  /** The id is a hyphenated UUID. */
  | { readonly protocol: 'vless'; readonly id: string; readonly stream: SharedStream }
  | { readonly protocol: 'vmess'; readonly id: string; readonly stream: SharedStream }
  | { readonly protocol: 'trojan'; readonly password: string; readonly stream: SharedStream }
  /** The password of a 2022 method is a key in base64, or two with a colon between them. */
  | { readonly protocol: 'shadowsocks'; readonly method: string; readonly password: string }
  | {
      readonly protocol: 'hysteria2';
      /** `user:pass`, or the one password. */
      readonly auth: string;
      readonly tls: SharedTls;
      /** The password of Salamander. */
      readonly obfuscation: string | undefined;
    }
  | { readonly protocol: 'socks'; readonly login: SharedLogin | undefined }
  | {
      readonly protocol: 'http';
      readonly login: SharedLogin | undefined;
      readonly stream: SharedStream;
    };

export interface SharedLogin {
  readonly user: string;
  readonly pass: string;
}

/** All that a client needs to know of a server: what a share link says. */
export interface SharedServer {
  /** For lists of servers in clients. */
  readonly name: string;
  /** A name in ASCII, or an address; IPv6 without brackets. */
  readonly host: string;
  readonly port: number;
  readonly access: SharedAccess;
}

/**
 * The body cipher of VMess that clients are told. With `auto`, sing-box encrypts nothing below TLS, which
 * servers of Weir refuse.
 */
export const VMESS_CIPHER = 'aes-128-gcm';

/** Something that cannot be shared; the message is the reason, without secrets. */
export class ShareError extends WeirError {
  constructor(message: string) {
    super('share', message);
  }
}
