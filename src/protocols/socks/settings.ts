import type { Account } from '../account.ts';

export interface SocksInboundSettings {
  readonly auth: 'none' | 'password';
  /** In file order; of a repeated user the last counts. Empty when `auth` is `none`. */
  readonly accounts: readonly Account[];
  readonly udp: boolean;
  /** The IP address on which associations bind; `undefined` for that of the control connection. */
  readonly udpBind: string | undefined;
}

export interface SocksOutboundSettings {
  /** RFC 1929 credentials, each already cut to 255 bytes; `undefined` for no authentication. */
  readonly account: { readonly user: string; readonly pass: string } | undefined;
}
