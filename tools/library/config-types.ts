import { findProtocol, loadProtocols, protocolNames } from '@weir/proxy/protocols';
import type { Shape } from '@weir/proxy/schema';
import { configSchema } from '@weir/config/json-schema';

/*
 * The type of a configuration for host programs, from the shapes of the decoders: `npm run docs:library` writes it.
 */

/** Where the types are, from the root. */
export const CONFIG_TYPES = 'packages/weir/src/library/config-types.ts';

const HEADER = `/*
 * Generated from the decoders of the configuration by \`npm run docs:library\`: change those.
 */
`;

/** Tables that get a name of their own, by their key at the top level. */
const TABLES = {
  log: 'LogConfig',
  dns: 'DnsConfig',
  balancer: 'BalancerConfig',
  route: 'RouteConfig',
  subscribe: 'SubscribeConfig',
  api: 'ApiConfig',
} as const;

const SIDES = { inbound: 'InboundConfig', outbound: 'OutboundConfig' } as const;

/** Returns the module with the types. */
export async function configTypes(): Promise<string> {
  const { properties = {} } = await configSchema();
  await loadProtocols();
  const tables = Object.entries(TABLES).map(([key, name]) => {
    const shape = properties[key] ?? {};
    return declared(name, shape.items ?? shape, shape.description);
  });
  const sides = (['inbound', 'outbound'] as const).flatMap((side) => sideTypes(side, properties));
  const config = `/** A configuration: the tables of a configuration file, with the keys of the file. */
export interface Config {
${members(properties, [], namedAtTop)}}
`;
  return [HEADER, config, ...tables, ...sides].join('\n');
}

/** Returns the type of a table at the top level by its name. */
function namedAtTop(key: string, shape: Shape): string {
  const names: Readonly<Record<string, string>> = { ...TABLES, ...SIDES };
  const name = names[key] ?? typeOf(shape);
  return shape.type === 'array' ? `readonly ${name}[]` : name;
}

/** Returns the types of one side: one for each protocol, and their union. */
function sideTypes(
  side: 'inbound' | 'outbound',
  properties: Readonly<Record<string, Shape>>,
): readonly string[] {
  const { items = {}, description } = properties[side] ?? {};
  const { protocol = {}, settings = {}, ...common } = items.properties ?? {};
  const suffix = SIDES[side];
  const streamName = `${suffix.replace('Config', '')}StreamConfig`;
  const base = `${suffix.replace('Config', '')}CommonConfig`;
  const required = (items.required ?? []).filter((key) => key !== 'protocol');
  const named = (key: string, shape: Shape): string =>
    key === 'stream' ? streamName : typeOf(shape);
  const groups = Map.groupBy(protocolNames(side), (name) => findProtocol(name)?.[side]);
  const variants = Array.from(groups, ([found, [name = '', ...aliases]]) => {
    const table = found?.table?.shape;
    const names = [name, ...aliases].map((each) => JSON.stringify(each)).join(' | ');
    const isRequired = (table?.required ?? []).length > 0;
    const own = table
      ? `${doc(settings.description ?? 'Of the protocol')}readonly settings${isRequired ? ':' : '?:'} ${typeOf(table)}${isRequired ? '' : ' | undefined'};\n`
      : `${doc('Ignored')}readonly settings?: Readonly<Record<string, unknown>> | undefined;\n`;
    const type = `${pascal(name)}${suffix}`;
    const text = `/** An ${side} of the protocol ${name}. */
export interface ${type} extends ${base} {
${doc(protocol.description ?? 'The protocol')}readonly protocol: ${names};
${own}}
`;
    return { type, text };
  });
  const union = variants.map(({ type }) => `\n  | ${type}`).join('');
  return [
    declared(streamName, common['stream'] ?? {}, common['stream']?.description),
    `/** The keys that every ${side} has. */
export interface ${base} {
${members(common, required, named)}}
`,
    ...variants.map(({ text }) => text),
    `/** ${description}. */\nexport type ${suffix} =${union};\n`,
  ];
}

const declared = (name: string, { properties = {}, required = [] }: Shape, text = ''): string =>
  `${doc(text)}export interface ${name} {\n${members(properties, required)}}\n`;

/** Returns the keys of a table as members. */
function members(
  properties: Readonly<Record<string, Shape>>,
  required: readonly string[],
  named: (key: string, shape: Shape) => string = (_, shape) => typeOf(shape),
): string {
  return Object.entries(properties)
    .map(([key, shape]) => {
      const isRequired = required.includes(key);
      const type = named(key, shape);
      const { description, default: value } = shape;
      const shown = value === undefined || Array.isArray(value) ? '' : JSON.stringify(value);
      const parts = [description, shown === '' ? undefined : `${shown} by default`];
      const text = parts.filter((part) => part !== undefined).join('; ');
      const mark = isRequired ? ':' : '?:';
      const absent = isRequired || type === 'unknown' ? '' : ' | undefined';
      return `${doc(text)}readonly ${key}${mark} ${type}${absent};\n`;
    })
    .join('');
}

/** Returns the type of the values of a shape. */
function typeOf(shape: Shape): string {
  if (shape.anyOf) return shape.anyOf.map(typeOf).join(' | ');
  if (shape.enum) return shape.enum.map((word) => JSON.stringify(word)).join(' | ');
  switch (shape.type) {
    case 'string':
    case 'boolean':
      return shape.type;
    case 'integer':
      return 'number';
    case 'array':
      return `readonly (${typeOf(shape.items ?? {})})[]`;
    case 'object': {
      const { properties = {}, additionalProperties: others } = shape;
      if (typeof others === 'object') return `Readonly<Record<string, ${typeOf(others)}>>`;
      return `{\n${members(properties, shape.required ?? [])}}`;
    }
    case undefined:
      return 'unknown';
    default:
      return shape.type satisfies never;
  }
}

const doc = (text: string): string =>
  text === '' ? '' : `/** ${text.replaceAll('*/', '* /')}. */\n`;

const pascal = (name: string): string => name.charAt(0).toUpperCase() + name.slice(1);
