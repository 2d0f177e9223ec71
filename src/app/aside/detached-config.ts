import { ApiOptions, type ApiListen } from '../../config/api.ts';
import type { LoadedConfig } from '../../config/load-config.ts';
import type { Warning } from '../../config/warnings/warning.ts';
import { buildRouterTables, type RouterTables } from '../../engine/router/tables/router-tables.ts';
import type { Spec } from '../../spec.ts';
import { exitsNamedBy, routeDigest } from '../../supervisor/compare.ts';
import { attachError, type DetachedError } from './detached-error.ts';
import type { FilesSeen } from '../log/file-log.ts';

/**
 * What a load in another thread sends back: data only. The rules and the lists of the geo files stay
 * there; the tables that were built from both are transferred instead, without a copy.
 */
export interface LoadOutcome {
  readonly files: FilesSeen;
  readonly result: DetachedConfig | DetachedError;
}

interface DetachedConfig {
  readonly spec: Spec;
  readonly tables: RouterTables;
  readonly api: { readonly listen: ApiListen; readonly secret: string | undefined } | undefined;
  readonly apiIgnored: boolean;
  readonly warnings: readonly Warning[];
}

/** Prepares a configuration for sending, and builds its tables. */
export function detachConfig({
  spec,
  geo,
  api,
  apiIgnored,
  warnings,
}: LoadedConfig): DetachedConfig {
  const { route } = spec;
  const tables = buildRouterTables(route, geo);
  const elsewhere = { sha256: routeDigest(route), exits: [...exitsNamedBy(route)] };
  return {
    spec: { ...spec, route: { ...route, rules: [], elsewhere } },
    tables,
    api: api && { listen: api.listen, secret: api.secret },
    apiIgnored,
    warnings,
  };
}

/** @throws {ConfigError | WeirError} the failure of the load. */
export function attachConfig(detached: LoadOutcome['result']): LoadedConfig {
  if (!('spec' in detached)) throw attachError(detached);
  const { spec, tables, api, apiIgnored, warnings } = detached;
  return {
    spec,
    tables,
    geo: { geosite: new Map(), geoip: new Map() },
    api: api && new ApiOptions(api.listen, api.secret),
    apiIgnored,
    warnings,
  };
}
