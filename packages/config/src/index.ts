/** Errors of a configuration, and the targets of its routes. */
export { type ApiListen, ApiOptions, DEFAULT_API_LISTEN, unsendableBecause } from './api.ts';
export {
  ConfigError,
  type ConfigErrorKind,
  configHints,
  type ConfigLocation,
  DocumentReadError,
  renderConfigError,
} from './errors.ts';
export { DEFAULT_GROUP, defaultPick, picksOf } from './route-targets.ts';
