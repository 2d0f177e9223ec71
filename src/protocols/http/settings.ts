import type { Account } from '../account.ts';

export interface HttpInboundSettings {
  /** In file order; of a repeated user the last counts. Empty for an open proxy. */
  readonly accounts: readonly Account[];
  readonly allowTransparent: boolean;
}

export interface HttpOutboundSettings {
  readonly account: Account | undefined;
}
