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

/** The program's version, which `--version` and the API return; a test holds it to package.json. */
export const VERSION = '2.1.1';
