import { LOCAL_LISTENERS } from '../config/default-config.ts';
import { basicString, dottedKey } from '../config/edit/toml-text.ts';
import type { Draft, Settings, SettingValue } from './draft.ts';

/** The longest tag that is made of a name. */
const LONGEST_TAG = 80;

/** Gives each draft a tag of its own, made of its name. */
export class Tags {
  readonly #taken = new Set<string>();
  /** How many have had a tag made of the same text. */
  readonly #counts = new Map<string, number>();

  next({ name, protocol, server, port }: Draft): string {
    // oxlint-disable-next-line no-control-regex -- names come from other people's files
    const clean = name.replaceAll(/[\u0000-\u001f\u007f]/g, ' ').trim();
    const place = server === undefined ? protocol : `${server}:${port}`;
    const base = (clean === '' ? place : clean).slice(0, LONGEST_TAG).toWellFormed();
    let count = this.#counts.get(base) ?? 0;
    let tag: string;
    do tag = count++ === 0 ? base : `${base} ${count}`;
    while (this.#taken.has(tag));
    this.#counts.set(base, count);
    this.#taken.add(tag);
    return tag;
  }
}

/** One `[[outbound]]` with its tables. */
export function outboundText(
  tag: string,
  { protocol, server, port, stream, settings }: Draft,
): string {
  const lines = ['[[outbound]]', ...pairs({ tag, protocol, server, port })];
  if (stream) {
    const { network, security, tls, ws, grpc } = stream;
    lines.push('[outbound.stream]', ...pairs({ network, security }));
    for (const [name, table] of Object.entries({ tls, ws, grpc })) {
      const found = table ? pairs(table) : [];
      if (found.length > 0) lines.push(`[outbound.stream.${name}]`, ...found);
    }
  }
  const found = pairs(settings);
  if (found.length > 0) lines.push('[outbound.settings]', ...found);
  return `${lines.join('\n')}\n`;
}

const pairs = (table: Settings): string[] =>
  Object.entries(table).flatMap(([key, value]) =>
    value === undefined ? [] : [`${dottedKey([key])} = ${valueText(value)}`],
  );

function valueText(value: SettingValue): string {
  if (typeof value === 'string') return basicString(value);
  if (typeof value === 'object') return `[${value.map(valueText).join(', ')}]`;
  return String(value);
}

/** What stands before the outbounds of a whole configuration. */
export const CONFIG_HEAD = `# The first outbound takes every flow that no rule matches.

${LOCAL_LISTENERS}
`;
