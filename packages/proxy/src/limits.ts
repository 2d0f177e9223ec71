/** Limits of accounts: bytes, time, devices and rates. */
export { type AccountRule, type LimitsSpec, NO_LIMITS, type Reset } from './limits/spec.ts';
