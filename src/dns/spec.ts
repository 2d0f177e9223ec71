import type { Endpoint } from '../net/address.ts';

/** Where names are resolved: the table `[dns]`, checked and lowered. */
export type DnsSpec =
  | { readonly backend: 'system' }
  | { readonly backend: 'udp'; readonly server: DnsServer }
  | {
      readonly backend: 'tls';
      readonly server: DnsServer;
      /** Sent as SNI and verified. */
      readonly serverName: string;
      readonly ca: CaSpec | undefined;
    }
  | {
      readonly backend: 'https';
      /** What is dialled, whatever the URL says. */
      readonly server: DnsServer;
      /** From the URL: sent as SNI and `Host`, and verified. */
      readonly host: string;
      readonly path: string;
      readonly ca: CaSpec | undefined;
    };

export type DnsBackendName = DnsSpec['backend'];

/** An IP address and a port. */
export type DnsServer = Endpoint;

/** Certificates trusted beside those of the system. */
export interface CaSpec {
  /** The file that they were read from, for people. */
  readonly file: string;
  /** PEM text, one each; part of the fingerprint, so a renewed file is a changed `[dns]`. */
  readonly certificates: readonly string[];
}
