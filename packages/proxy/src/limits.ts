/** Limits of accounts: bytes, time, devices and rates. */
export type { LimitChange } from './limits/account-limits.ts';
export type { AccountMeter, AccountState, ReachedLimit } from './limits/account-meter.ts';
export { hasEnded } from './limits/periods.ts';
export { type AccountRule, isReset, type LimitsSpec, type Reset, RESETS } from './limits/spec.ts';
