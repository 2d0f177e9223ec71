/** Limits of accounts: bytes, time, devices and rates. */
export { AccountLimits, type LimitChange } from './limits/account-limits.ts';
export { AccountMeter, type AccountState, type ReachedLimit } from './limits/account-meter.ts';
export { hasEnded } from './limits/periods.ts';
export { type AccountRule, type LimitsSpec, NO_LIMITS, type Reset } from './limits/spec.ts';
