/** The limits file: limits of accounts, which are not part of a configuration. */
export {
  type AmountProblem,
  parseByteLimit,
  parseRateLimit,
  parseUntil,
} from './limits/amounts.ts';
