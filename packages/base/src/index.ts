/** Errors, the version, and parts that are imported on demand. */
export {
  asError,
  CodedError,
  codeOf,
  dropStacks,
  hintsOf,
  messageOf,
  UsageError,
  WeirError,
  type WeirErrorOptions,
} from './errors.ts';
export { OnDemand } from './on-demand.ts';
export { VERSION } from './version.ts';
