import { LOCAL_LISTENERS } from '@weir/config/documents';
import type { DocumentKey, InboundEntry, Routing } from '../routing.ts';
import type { ReportItem } from '../report.ts';
import { problemsIn, type ConfigCheck } from './servers.ts';
import { comment, dnsText, inboundText, tableText, UniqueNames } from './tables.ts';

/** The parts of a configuration other than servers and routes. */
interface OtherParts {
  /** The tables `[[inbound]]`, `[api]`, `[log]` and `[dns]`. */
  readonly text: string;
  /** Tags of inbounds, by their names in the document. */
  readonly inbounds: ReadonlyMap<string, readonly string[]>;
  readonly items: readonly ReportItem[];
}

const API = '[api]\nlisten = "127.0.0.1:9090"\n';
const API_PORT = 9090;

/** Writes inbounds, the API, the log and DNS. Inbounds that Weir would reject become comments. */
export async function writeParts(
  { inbounds, dns, logLevel, keys }: Routing,
  check: ConfigCheck,
): Promise<OtherParts> {
  const listeners = await writeInbounds(inbounds, check);
  const dnsProblem = dns && (await check(withOutbound(dnsText(dns))));
  const isWritten = dns && dnsProblem === undefined;
  const texts = [
    listeners.text,
    ...(logLevel === undefined ? [] : [tableText('log', { level: logLevel })]),
    ...(isWritten ? [comment(`Name server of the document: ${dns.source}`) + dnsText(dns)] : []),
  ];
  const dnsItem = (): ReportItem[] =>
    dns
      ? [
          {
            part: 'dns',
            source: dns.source,
            status: isWritten ? 'imported' : 'skipped',
            notes: dnsProblem === undefined ? [] : [dnsProblem],
          },
        ]
      : [];
  return {
    text: texts.join('\n'),
    inbounds: listeners.tags,
    items: [
      ...listeners.items,
      ...dnsItem(),
      ...(logLevel === undefined
        ? []
        : [{ part: 'log', source: logLevel, status: 'imported', notes: [] } as const]),
      ...keys.map(keyItem),
    ],
  };
}

/** The report item of a key. */
export const keyItem = ({ path, status, reason }: DocumentKey): ReportItem => ({
  part: 'key',
  source: path,
  status,
  notes: reason === undefined ? [] : [reason],
});

const withOutbound = (text: string): string =>
  `[[outbound]]\ntag = "direct"\nprotocol = "freedom"\n${text}`;

interface WrittenInbounds {
  readonly text: string;
  readonly tags: ReadonlyMap<string, readonly string[]>;
  readonly items: readonly ReportItem[];
}

async function writeInbounds(
  entries: readonly InboundEntry[],
  check: ConfigCheck,
): Promise<WrittenInbounds> {
  if (entries.every((entry) => 'skipped' in entry)) {
    return { text: LOCAL_LISTENERS, tags: new Map(), items: entries.map((each) => itemOf(each)) };
  }
  const names = new UniqueNames();
  const tagged = entries.map((entry) => ({
    entry,
    drafts:
      'skipped' in entry
        ? []
        : entry.drafts.map((draft) => ({
            draft,
            tag: names.next(draft.tag ?? draft.name, draft.protocol),
          })),
  }));
  const textOf = ({ drafts }: (typeof tagged)[number]): string =>
    drafts.map(({ tag, draft }) => inboundText(tag, draft)).join('\n');
  const problems = await problemsIn(
    tagged,
    (some) => withOutbound(some.map(textOf).join('\n')),
    check,
  );
  // Rules still name the inbounds in comments: without their rules, uncommented inbounds would be routed differently.
  const tags = new Map<string, string[]>();
  const ports = new Set<number | undefined>();
  for (const { draft, tag } of tagged.flatMap(({ drafts }) => drafts)) {
    tags.set(draft.name, [...(tags.get(draft.name) ?? []), tag]);
    ports.add(draft.port);
  }
  const api = ports.has(API_PORT) ? [] : [API];
  return {
    text: [
      ...tagged.flatMap((each) => {
        const problem = problems.get(each);
        if (each.drafts.length === 0) return [];
        const source = `${each.entry.source} of the document`;
        return problem === undefined
          ? [comment(source) + textOf(each)]
          : [comment(`${source}, not in effect: ${problem}`) + commented(textOf(each))];
      }),
      ...api,
    ].join('\n'),
    tags,
    items: tagged.map((each) =>
      itemOf(
        each.entry,
        problems.get(each),
        each.drafts.map(({ tag }) => tag),
      ),
    ),
  };
}

/** Prefixes lines with `# `, so that removing it puts them into effect. */
const commented = (text: string): string => text.replaceAll(/^(?=.)/gm, '# ');

const IN_COMMENTS =
  'it is not in effect, and in the file as comments: take their "# " away where that is mended';

function itemOf(entry: InboundEntry, problem?: string, tags: readonly string[] = []): ReportItem {
  const base = { part: 'inbound', source: entry.source } as const;
  const reason = 'skipped' in entry ? entry.skipped : problem;
  if (reason !== undefined || 'skipped' in entry) {
    return {
      ...base,
      status: 'skipped',
      notes: [reason ?? '', ...('skipped' in entry ? [] : [IN_COMMENTS])],
    };
  }
  const { notes } = entry;
  const status = notes.length === 0 ? 'imported' : 'changed';
  return { ...base, status, as: tags.join(', '), notes };
}
