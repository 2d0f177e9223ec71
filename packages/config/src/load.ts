/** A configuration from its documents to a Spec, with its warnings. */
export type { AccountNames } from './account-names.ts';
export { builtinOutbounds } from './route-targets.ts';
export { loadConfig, type LoadedConfig, type LoadHooks } from './load-config.ts';
export type { MergedConfig } from './merge.ts';
export type { Places } from './sources/source-text.ts';
export { isUdpOnly } from './tables/balancer.ts';
export { DEFAULT_LEVEL } from './tables/log.ts';
export { routeReferences } from './tables/route.ts';
export { subscribePath } from './tables/subscribe.ts';
export { warnOfRules } from './warnings/rules.ts';
export { warnOfShadowedRules } from './warnings/shadowed-rules.ts';
export { type Examined, renderWarning, type Warning, WarningList } from './warnings/warning.ts';
