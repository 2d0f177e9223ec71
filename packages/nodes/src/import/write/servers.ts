import type { Draft } from '@weir/proxy/protocols/forms';
import type { ImportedEntry } from '../routing.ts';
import type { ReportItem } from '../report.ts';
import { IMPORTED, SOURCE_MARKER } from './markers.ts';
import { outboundText, type Form, Tags } from './tables.ts';

/**
 * Weir's checks of a configuration without its API: resolves with the error, or `undefined` for a valid one.
 * `configProblem` of `packages/server/src/app` is an implementation.
 */
export type ConfigCheck = (text: string) => Promise<string | undefined>;

/** Maximum number of checks for one kind of part; each reads a whole text. */
const MOST_CHECKS = 5000;

/**
 * Finds the invalid items and why. It checks all of them together, and halves while that fails: a list with few invalid
 * items takes few checks.
 *
 * @param textOf returns a configuration with these items
 */
export async function problemsIn<T>(
  items: readonly T[],
  textOf: (items: readonly T[]) => string,
  check: ConfigCheck,
): Promise<ReadonlyMap<T, string>> {
  const problems = new Map<T, string>();
  const waiting = [items];
  let checks = 0;
  for (let some = waiting.pop(); some !== undefined; some = waiting.pop()) {
    if (some.length === 0) continue;
    const isOver = checks++ >= MOST_CHECKS;
    const problem = isOver ? 'too many others are invalid' : await check(textOf(some));
    if (problem === undefined) continue;
    if (some.length === 1 || isOver) for (const each of some) problems.set(each, problem);
    else {
      const half = some.length >> 1;
      waiting.push(some.slice(half), some.slice(0, half));
    }
  }
  return problems;
}

/** The servers that can be written. */
export interface WrittenServers {
  /** Servers by the index of their entry. */
  readonly found: ReadonlyMap<number, { readonly tag: string; readonly text: string }>;
  /** Why drafts are left out, by the index of their entry. */
  readonly problems: ReadonlyMap<number, string>;
  readonly items: readonly ReportItem[];
  /** The tags in use, for further ones. */
  readonly tags: Tags;
}

interface Tagged {
  readonly index: number;
  readonly tag: string;
  readonly draft: Draft;
}

/** Writes the servers of a document in order; those that Weir's checks reject are left out. */
export async function writeServers(
  entries: readonly ImportedEntry[],
  form: Form,
  check: ConfigCheck,
): Promise<WrittenServers> {
  const tags = new Tags();
  const tagged = entries.flatMap(({ draft }, index): readonly Tagged[] =>
    !draft || (form === 'node' && isBuiltIn(draft))
      ? []
      : [{ index, tag: tags.next(draft), draft }],
  );
  const refused = await problemsIn(
    tagged,
    (some) => some.map(({ tag, draft }) => outboundText(tag, draft)).join(''),
    check,
  );
  const problems = new Map(Array.from(refused, ([{ index }, problem]) => [index, problem]));
  const written = tagged.filter(({ index }) => !problems.has(index));
  const marker = form === 'node' ? `${SOURCE_MARKER}${IMPORTED}\n` : '';
  const found = new Map(
    written.map(({ index, tag, draft }) => [
      index,
      { tag, text: marker + outboundText(tag, draft, form) },
    ]),
  );
  const items = entries.map((entry, index) =>
    itemOf(entry, index, found.get(index)?.tag, problems.get(index)),
  );
  return { found, problems, items, tags };
}

/** Whether a draft is one of the outbounds that every configuration has. */
const isBuiltIn = ({ protocol }: Draft): boolean =>
  protocol === 'freedom' || protocol === 'blackhole';

function itemOf(
  entry: ImportedEntry,
  index: number,
  tag: string | undefined,
  problem: string | undefined,
): ReportItem {
  const name = (entry.draft ?? entry).name;
  const base = { part: 'server', source: name === '' ? `entry ${index + 1}` : name } as const;
  const reason = problem ?? entry.skipped;
  if (reason !== undefined || !entry.draft) {
    return { ...base, status: 'skipped', notes: [reason ?? ''] };
  }
  if (tag === undefined) {
    return { ...base, status: 'skipped', notes: ['"direct" and "blackhole" are built in'] };
  }
  const status = entry.notes.length === 0 ? 'imported' : 'changed';
  return { ...base, status, as: tag, notes: entry.notes };
}
