import { WeirError } from '../errors.ts';

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
      /** The Salamander password. */
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

/** A server with everything that a client needs, which is the content of a share link. */
export interface SharedServer {
  /** Name of the server in a client's list. */
  readonly name: string;
  /** A name in ASCII, or an address; IPv6 without brackets. */
  readonly host: string;
  readonly port: number;
  readonly access: SharedAccess;
}

/**
 * The VMess body cipher that clients are given. With `auto`, sing-box encrypts nothing below TLS, which Weir's servers
 * reject.
 */
export const VMESS_CIPHER = 'aes-128-gcm';

/** Why something cannot be shared; the message has no secrets. */
export class ShareError extends WeirError {
  constructor(message: string) {
    super('share', message);
  }
}
