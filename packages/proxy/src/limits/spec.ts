/** The limits of accounts as data: what a limits file says, which `AccountLimits` enforces. */

/** When the used bytes of an account begin at 0 again: at 00:00 UTC of each day, Monday or first of a month. */
export const RESETS = ['never', 'daily', 'weekly', 'monthly'] as const;
export type Reset = (typeof RESETS)[number];

export const isReset = (value: unknown): value is Reset => RESETS.some((reset) => reset === value);

/** The limits of one account; a limit that is `undefined` does not apply. */
export interface AccountRule {
  /** Payload bytes of a period, up and down together. */
  readonly bytes: number | undefined;
  readonly reset: Reset;
  /** The first moment at which the account no longer works, in Unix milliseconds. */
  readonly until: number | undefined;
  /** Distinct sources with a flow in the last minute. */
  readonly devices: number | undefined;
  /** Bytes per second from the account's clients, over all of its flows. */
  readonly up: number | undefined;
  /** Bytes per second to the account's clients, over all of its flows. */
  readonly down: number | undefined;
}

/** The limits of all accounts. */
export interface LimitsSpec {
  /** Rules by the name of the account. */
  readonly accounts: ReadonlyMap<string, AccountRule>;
  /** The rule of every other account, each for itself; `undefined` for none. */
  readonly others: AccountRule | undefined;
}

/** The limits of a process without a limits file. */
export const NO_LIMITS: LimitsSpec = { accounts: new Map(), others: undefined };
