import { basicString, dottedKey, terminalSafe, labelComment } from '@weir/config/text';
import { printable, replaceUnprintable } from '@weir/base/printable';
import type { Draft, Settings, SettingValue, StreamDraft } from '@weir/proxy/protocols/forms';
import type { DnsDraft, InboundDraft, InboundValue, Matchers } from '../routing.ts';

/** Tables of an outbound: in a configuration, or as a node of a subscribe file. */
const FORMS = {
  outbound: { table: 'outbound', name: 'tag' },
  node: { table: 'proxy_server', name: 'name' },
} as const;

export type Form = keyof typeof FORMS;

/** Formats an `[[outbound]]` or `[[proxy_server]]` with its subtables. */
export function outboundText(
  tag: string,
  { protocol, server, port, family, stream, settings }: Draft,
  form: Form = 'outbound',
): string {
  const { table, name } = FORMS[form];
  return textOf([
    `[[${table}]]`,
    ...pairs({ [name]: tag, protocol, server, port, address_family: family }),
    ...streamLines(table, stream),
    ...subtable(`${table}.settings`, settings),
  ]);
}

/** Formats an `[[inbound]]` with its subtables. */
export function inboundText(
  tag: string,
  { protocol, listen, port, sniffing, stream, settings, userNames }: InboundDraft,
): string {
  return textOf([
    '[[inbound]]',
    ...pairs({ tag, protocol, listen, port, sniffing }),
    ...streamLines('inbound', stream),
    ...subtable('inbound.settings', settings, userNames),
  ]);
}

function streamLines(table: string, stream: StreamDraft | undefined): readonly string[] {
  if (!stream) return [];
  const { network, security, tls, ws, grpc } = stream;
  return [
    `[${table}.stream]`,
    ...pairs({ network, security }),
    ...Object.entries({ tls, ws, grpc }).flatMap(([key, values]) =>
      subtable(`${table}.stream.${key}`, values ?? {}),
    ),
  ];
}

/** Formats a table with its header; nothing if it has no keys. */
function subtable(header: string, values: Table, userNames: Names = []): readonly string[] {
  const found = pairs(values, userNames);
  return found.length === 0 ? [] : [`[${header}]`, ...found];
}

/** Formats a `[[balancer]]`. */
export const balancerText = (
  tag: string,
  balancer: { readonly outbounds: readonly string[]; readonly strategy: string },
  interval: number | undefined,
): string => textOf(['[[balancer]]', ...pairs({ tag, ...balancer, probe_interval: interval })]);

/** Formats a `[[route.rule]]`, or without an outbound a `[[route_group.rule]]`. */
export const ruleText = (matchers: Matchers, outbound?: string): string =>
  textOf([
    outbound === undefined ? '[[route_group.rule]]' : '[[route.rule]]',
    ...pairs({ outbound, ...matchers }),
  ]);

/** The target that a group of a subscribe file inherits. */
export type InheritText = 'default' | 'direct' | 'blackhole' | { readonly group: string };

/** Formats a `[[route_group]]` without its rules. */
export function groupText(name: string, inherit: InheritText): string {
  const value =
    typeof inherit === 'string'
      ? basicString(inherit)
      : `{ group = ${terminalSafe(basicString(inherit.group))} }`;
  return textOf(['[[route_group]]', ...pairs({ name }), `inherit = ${value}`]);
}

export const dnsText = ({ settings }: DnsDraft): string => tableText('dns', settings);

/** Formats `[header]` with its keys. */
export const tableText = (header: string, values: Settings): string =>
  textOf([`[${header}]`, ...pairs(values)]);

/** Maximum characters of a comment, which is truncated beyond. */
const LONGEST_COMMENT = 400;

/** Formats a comment on one line, with any text. */
export function comment(text: string): string {
  const line = printable(text.toWellFormed());
  const shown = line.length > LONGEST_COMMENT ? `${line.slice(0, LONGEST_COMMENT)}…` : line;
  return `# ${shown.toWellFormed()}\n`;
}

const textOf = (lines: readonly string[]): string => `${lines.join('\n')}\n`;

type Table = Readonly<Record<string, InboundValue | undefined>>;

type Names = NonNullable<InboundDraft['userNames']>;

/** Formats keys with their values. @param userNames names of `users`, which become comments (`weir user`) */
const pairs = (table: Table, userNames: Names = []): string[] =>
  Object.entries(table).flatMap(([key, value]) =>
    value === undefined
      ? []
      : [`${safeKey(key)} = ${valueText(value, key === 'users' ? userNames : [])}`],
  );

const safeKey = (key: string): string => terminalSafe(dottedKey([key]));

/** Maximum characters of a list on one line. */
const LONGEST_LINE = 100;

function valueText(value: InboundValue, names: Names = []): string {
  if (typeof value === 'string') return terminalSafe(basicString(value));
  if (typeof value !== 'object') return String(value);
  const items = value.map(itemText);
  const labels = names.map((name) => printable((name ?? '').toWellFormed()).trim());
  if (labels.some((label) => label !== '')) {
    const lines = items.map((item, index) => `  ${item},${labelText(labels[index] ?? '')}\n`);
    return `[\n${lines.join('')}]`;
  }
  const line = `[${items.join(', ')}]`;
  return line.length <= LONGEST_LINE ? line : `[\n  ${items.join(',\n  ')},\n]`;
}

const labelText = (label: string): string => (label === '' ? '' : ` ${labelComment(label)}`);

const itemText = (item: SettingValue | Settings): string =>
  typeof item === 'object' && !isList(item) ? `{ ${pairs(item).join(', ')} }` : valueText(item);

const isList = (value: object): value is readonly (string | number)[] => Array.isArray(value);

/** Maximum length of a tag or name, in UTF-16 code units. */
const LONGEST = 80;

/** Makes names unique by appending numbers. */
export class UniqueNames {
  readonly #taken: Set<string>;
  /** Number of names derived from the same text. */
  readonly #counts = new Map<string, number>();

  constructor(taken: Iterable<string> = []) {
    this.#taken = new Set(taken);
  }

  /**
   * A unique name from a text, on one line, without control characters, and shortened.
   *
   * @param fallback used if the text is empty
   */
  next(text: string, fallback: string): string {
    const plain = plainName(text);
    const base = (plain === '' ? fallback : plain).slice(0, LONGEST).toWellFormed();
    let count = this.#counts.get(base) ?? 0;
    let name: string;
    do name = count++ === 0 ? base : `${base} ${count}`;
    while (this.#taken.has(name));
    this.#counts.set(base, count);
    this.#taken.add(name);
    return name;
  }
}

const plainName = (text: string): string =>
  replaceUnprintable(text.toWellFormed(), () => ' ').trim();

/** Gives each draft a unique tag, derived from its name. */
export class Tags {
  readonly #names = new UniqueNames();

  next({ name, protocol, server, port }: Draft): string {
    const place = server === undefined ? protocol : `${server}:${port}`;
    const base = [name, place].find(
      (text) => plainName(text) !== '' && isFree(plainName(text), protocol),
    );
    return this.#names.next(base ?? '', `${protocol} outbound`);
  }

  /** A tag for a balancer, unique among outbounds and balancers. */
  nextBalancer(name: string): string {
    return this.#names.next(isFree(plainName(name), 'balancer') ? name : '', 'balancer');
  }
}

/** Whether a tag does not clash with a built-in outbound of another protocol. */
const isFree = (tag: string, protocol: string): boolean =>
  (tag !== 'direct' || protocol === 'freedom') && (tag !== 'blackhole' || protocol === 'blackhole');
