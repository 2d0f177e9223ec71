import { anything, array, narrowed } from '../../schema/decoder.ts';
import { DecodeError } from '../../schema/errors.ts';
import { fallback, optional, struct, type Output } from '../../schema/struct.ts';
import { apiTable } from '../api.ts';
import { foreignFormat } from './foreign-format.ts';
import type { SourceText } from './source-text.ts';
import { balancerTable } from '../tables/balancer.ts';
import { dnsTable } from '../tables/dns.ts';
import { inboundTable } from '../tables/inbound.ts';
import { logTable, readLogLevel } from '../tables/log.ts';
import { outboundTable } from '../tables/outbound.ts';
import { routeTable } from '../tables/route.ts';
import { subscribeTable } from '../tables/subscribe.ts';
import { TomlError } from '../toml/error.ts';
import { parseToml } from '../toml/parse.ts';

/** The top level of a configuration file: a new table is a file in `tables/` and a line here. */
export const configFile = struct(
  {
    log: optional(logTable),
    dns: optional(dnsTable),
    inbound: fallback(array(inboundTable), []),
    outbound: fallback(array(outboundTable), []),
    balancer: fallback(array(balancerTable), []),
    route: optional(routeTable),
    subscribe: optional(subscribeTable),
    api: optional(narrowed(anything, apiTable.shape ?? {})),
  },
  {
    log: 'What is logged',
    dns: 'How names are resolved; without it by the resolver of the machine',
    inbound: 'A listener',
    outbound: 'An upstream or a direct connection; the first is the default route',
    balancer: 'Interchangeable outbounds behind one tag',
    route: 'Where flows go',
    subscribe: 'A file of nodes and route groups',
    api: 'The control API',
  },
);

/** The contents of a file with their places; `lowerConfig` interprets them. */
export type ConfigFile = Output<typeof configFile>;

/** The tags of the balancers of a file, in file order. */
export function balancerTags({ balancer }: ConfigFile): readonly string[] {
  return balancer.map(({ tag }) => tag.value);
}

/**
 * Reads the shape of a configuration file.
 *
 * @param onLogLevel gets `[log].level`, also when the rest of the file is invalid: it decides
 *   whether that error is shown. Not called when `[log]` itself cannot be read.
 * @throws {ConfigError} for the first place that is not TOML, or not of the right shape.
 */
export function readConfigFile(
  source: SourceText,
  onLogLevel?: (level: string) => void,
): ConfigFile {
  try {
    const document = parseToml(source.text);
    const level = readLogLevel(document);
    if (level !== undefined) onLogLevel?.(level);
    return configFile(document);
  } catch (error) {
    if (!(error instanceof TomlError || error instanceof DecodeError)) throw error;
    const format = error instanceof TomlError ? foreignFormat(source.text) : undefined;
    throw source.tomlError(error.message, error.span, { cause: error, format });
  }
}
