import { ApiOptions, type ApiListen } from '../config/api.ts';
import { ConfigError, type ConfigErrorKind, type ConfigLocation } from '../config/errors.ts';
import type { LoadedConfig } from '../config/load-config.ts';
import { buildRouterTables, type RouterTables } from '../engine/router/router-tables.ts';
import { WeirError, codeOf, messageOf } from '../errors.ts';
import type { Spec } from '../spec.ts';
import { exitsNamedBy, routeDigest } from '../supervisor/route-digest.ts';
import type { FilesSeen } from './file-log.ts';

/**
 * What a load in another thread sends back: data only. The rules stay behind, and so do the lists of
 * the geo files; the tables that were built of both come instead, without being copied.
 */
export interface LoadOutcome {
  readonly files: FilesSeen;
  readonly result: DetachedConfig | DetachedError;
}

interface DetachedConfig {
  readonly kind: 'loaded';
  readonly spec: Spec;
  readonly tables: RouterTables;
  readonly api: { readonly listen: ApiListen; readonly secret: string | undefined } | undefined;
  readonly apiIgnored: boolean;
}

interface DetachedError {
  readonly kind: 'failed';
  readonly message: string;
  readonly code: string;
  /** Of a ConfigError. */
  readonly config:
    | {
        readonly kind: ConfigErrorKind;
        readonly location: ConfigLocation | undefined;
        readonly subject: string | undefined;
      }
    | undefined;
}

/** Makes a configuration ready to be sent, and builds its tables. */
export function detachConfig({ spec, geo, api, apiIgnored }: LoadedConfig): DetachedConfig {
  const { route } = spec;
  const tables = buildRouterTables(route, geo);
  const elsewhere = { sha256: routeDigest(route), exits: [...exitsNamedBy(route)] };
  return {
    kind: 'loaded',
    spec: { ...spec, route: { ...route, rules: [], elsewhere } },
    tables,
    api: api && { listen: api.listen, secret: api.secret },
    apiIgnored,
  };
}

export function detachError(error: unknown): DetachedError {
  const config =
    error instanceof ConfigError
      ? { kind: error.kind, location: error.location, subject: error.subject }
      : undefined;
  return { kind: 'failed', message: messageOf(error), code: codeOf(error) ?? 'internal', config };
}

/** @throws {ConfigError | WeirError} what the load failed with. */
export function attachConfig(detached: LoadOutcome['result']): LoadedConfig {
  if (detached.kind === 'failed') {
    const { message, code, config } = detached;
    throw config ? new ConfigError(config.kind, message, config) : new WeirError(code, message);
  }
  const { spec, tables, api, apiIgnored } = detached;
  return {
    spec,
    tables,
    geo: { geosite: new Map(), geoip: new Map() },
    api: api && new ApiOptions(api.listen, api.secret),
    apiIgnored,
  };
}

/** The buffers of a value of plain data, each once. */
export function buffersOf(value: unknown, found = new Set<ArrayBuffer>()): Set<ArrayBuffer> {
  if (ArrayBuffer.isView(value)) {
    if (value.buffer instanceof ArrayBuffer) found.add(value.buffer);
  } else if (typeof value === 'object' && value !== null) {
    for (const part of Object.values(value)) buffersOf(part, found);
  }
  return found;
}
