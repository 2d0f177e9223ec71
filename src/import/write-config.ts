import { LOCAL_LISTENERS } from '../config/sources/default-config.ts';
import { basicString, dottedKey } from '../config/edit/toml-text.ts';
import { printable, replaceUnprintable } from '../printable.ts';
import type { Draft, Settings, SettingValue } from './draft.ts';

/** The longest tag, in UTF-16 units. */
const LONGEST_TAG = 80;

/** Gives each draft a unique tag, derived from its name. */
export class Tags {
  readonly #taken = new Set<string>();
  /** Number of tags derived from the same text. */
  readonly #counts = new Map<string, number>();

  next({ name, protocol, server, port }: Draft): string {
    const place = server === undefined ? protocol : `${server}:${port}`;
    const base = [name, place]
      .map((text) => replaceUnprintable(text.toWellFormed(), () => ' ').trim())
      .find((text) => text !== '' && isFree(text, protocol));
    return this.#unique((base ?? `${protocol} outbound`).slice(0, LONGEST_TAG).toWellFormed());
  }

  #unique(base: string): string {
    let count = this.#counts.get(base) ?? 0;
    let tag: string;
    do tag = count++ === 0 ? base : `${base} ${count}`;
    while (this.#taken.has(tag));
    this.#counts.set(base, count);
    this.#taken.add(tag);
    return tag;
  }
}

/** Whether a tag does not clash with a built-in outbound of another protocol. */
const isFree = (tag: string, protocol: string): boolean =>
  (tag !== 'direct' || protocol === 'freedom') && (tag !== 'blackhole' || protocol === 'blackhole');

/** The table of an outbound, in a configuration or as a node of a subscribe file. */
const FORMS = {
  outbound: { table: 'outbound', name: 'tag' },
  node: { table: 'proxy_server', name: 'name' },
} as const;

export type Form = keyof typeof FORMS;

/** An `[[outbound]]` or `[[proxy_server]]` with its subtables. */
export function outboundText(
  tag: string,
  { protocol, server, port, family, stream, settings }: Draft,
  form: Form = 'outbound',
): string {
  const { table, name } = FORMS[form];
  const lines = [
    `[[${table}]]`,
    ...pairs({ [name]: tag, protocol, server, port, address_family: family }),
  ];
  if (stream) {
    const { network, security, tls, ws, grpc } = stream;
    lines.push(`[${table}.stream]`, ...pairs({ network, security }));
    for (const [key, values] of Object.entries({ tls, ws, grpc })) {
      const found = values ? pairs(values) : [];
      if (found.length > 0) lines.push(`[${table}.stream.${key}]`, ...found);
    }
  }
  const found = pairs(settings);
  if (found.length > 0) lines.push(`[${table}.settings]`, ...found);
  return `${lines.join('\n')}\n`;
}

const pairs = (table: Settings): string[] =>
  Object.entries(table).flatMap(([key, value]) =>
    value === undefined ? [] : [`${dottedKey([key])} = ${valueText(value)}`],
  );

function valueText(value: SettingValue): string {
  if (typeof value === 'string') return terminalSafe(basicString(value));
  if (typeof value === 'object') return `[${value.map(valueText).join(', ')}]`;
  return String(value);
}

/** Escapes unprintable characters of a basic string, because the output may go to a terminal. */
const terminalSafe = (text: string): string =>
  replaceUnprintable(text, (codePoint) =>
    codePoint > 0xffff
      ? String.raw`\U${codePoint.toString(16).padStart(8, '0')}`
      : String.raw`\u${codePoint.toString(16).padStart(4, '0')}`,
  );

/** The default route of the new configuration. */
export interface DefaultTag {
  readonly tag: string;
  /** Why it differs from the document. */
  readonly problem?: string | undefined;
}

/** The text before the outbounds of a whole configuration. */
export function configHead({ tag, problem }: DefaultTag): string {
  const comment =
    problem === undefined
      ? ['# Flows that no rule matches go here.']
      : [
          `# ${printable(problem)}`,
          '# Until another outbound is named here, flows that no rule matches are dropped.',
        ];
  return [...comment, '[route]', ...pairs({ default: tag }), '', LOCAL_LISTENERS, ''].join('\n');
}
