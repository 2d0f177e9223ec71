import type { Draft } from '@weir/proxy/protocols/forms';
import type { ImportedEntry } from '../routing.ts';
import type { ReportItem } from '../report.ts';
import { type ConfigCheck, problemsIn } from './check.ts';
import { IMPORTED, SOURCE_MARKER } from './markers.ts';
import { type Form, outboundText } from './tables.ts';
import { Tags } from './tags.ts';

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
