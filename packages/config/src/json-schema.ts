import { findProtocol, loadProtocols, protocolNames } from '@weir/proxy/protocols';
import type { Shape } from '@weir/proxy/schema';
import { limitsFile } from './limits/limits-file.ts';
import { configFile } from './sources/config-file.ts';

/** A schema that names its dialect. */
interface JsonSchema extends Shape {
  readonly $schema: string;
  readonly title: string;
  /** The version of TOML that Tombi assumes; 1.0 if absent. */
  readonly 'x-tombi-toml-version': string;
}

const DIALECT = {
  $schema: 'http://json-schema.org/draft-07/schema#',
  'x-tombi-toml-version': 'v1.1.0',
} as const;

/**
 * Returns the JSON Schema of a configuration file, derived from its decoders, for completion and checks in
 * editors.
 *
 * The keys of `settings` depend on `protocol`: the schema lists the keys of all protocols, for
 * completion, and narrows them by a condition for each protocol. With alternatives (`oneOf`)
 * editors would report errors at the whole table.
 */
export async function configSchema(): Promise<JsonSchema> {
  await loadProtocols();
  const { properties = {}, ...rest } = configFile.shape ?? {};
  return {
    ...DIALECT,
    title: 'Weir',
    ...rest,
    properties: {
      ...properties,
      inbound: withSettings(properties['inbound'] ?? {}, 'inbound'),
      outbound: withSettings(properties['outbound'] ?? {}, 'outbound'),
    },
  };
}

/** Returns the JSON Schema of a limits file. */
export const limitsSchema = (): JsonSchema => ({
  ...DIALECT,
  title: 'Limits of accounts of Weir',
  ...limitsFile.shape,
});

function withSettings(list: Shape, side: 'inbound' | 'outbound'): Shape {
  const item = list.items ?? {};
  const names = protocolNames(side);
  const keys: Record<string, Shape> = {};
  const conditions: Shape[] = [];
  for (const name of names) {
    const settings = findProtocol(name)?.[side]?.table?.shape;
    if (!settings) continue;
    // A key whose shape differs between protocols is checked by the condition of each. Names of one
    // protocol share a shape: as `{}` a table would have no keys, of which Tombi warns.
    for (const [key, value] of Object.entries(settings.properties ?? {})) {
      keys[key] = key in keys && keys[key] !== value ? {} : value;
    }
    const { required = [] } = settings;
    conditions.push(
      conditional(
        { properties: { protocol: { const: name } }, required: ['protocol'] },
        { properties: { settings }, ...(required.length > 0 && { required: ['settings'] }) },
      ),
    );
  }
  const { settings = {}, ...others } = item.properties ?? {};
  const union: Shape = {
    ...settings,
    type: 'object',
    properties: keys,
    additionalProperties: true,
  };
  return {
    ...list,
    items: { ...item, properties: { ...others, settings: union }, allOf: conditions },
  };
}

/** Keywords of a condition (JSON Schema 2020-12, core §10.2.2), which draft 7 has as well. */
const [IF = '', THEN = ''] = 'if then'.split(' ');

/** Returns a condition. Not an object literal, because an object with a key `then` looks like a promise. */
function conditional(condition: Shape, consequence: Shape): Shape {
  return { [IF]: condition, [THEN]: consequence };
}
