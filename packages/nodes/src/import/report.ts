import { printable, quoted } from '@weir/base/printable';

/**
 * The outcome of one part of a document. Readers and writers together report every server, group, rule and inbound, the
 * default, DNS, and every other key.
 */
export interface ReportItem {
  readonly part: 'server' | 'group' | 'rule' | 'default' | 'inbound' | 'dns' | 'log' | 'key';
  /** The part as the document names it: a name, a rule, the path of a key. */
  readonly source: string;
  /**
   * `imported`: with the same meaning; `changed`: written with the differences in `notes`; `same`: nothing has to be
   * written; `skipped`: left out, for the reason in `notes`.
   */
  readonly status: 'imported' | 'changed' | 'same' | 'skipped';
  /** The tag or name in the result. */
  readonly as?: string | undefined;
  readonly notes: readonly string[];
}

/** The report in the form of `weir import --report json`; further keys may be added. */
export interface ImportReport {
  readonly version: 1;
  /** Name of the detected format. */
  readonly kind: string;
  readonly items: readonly ReportItem[];
  /** Targets whose flows are dropped because they were not imported; empty if there are none. */
  readonly problems: readonly string[];
}

/** Maximum numbers of lines of a report, and of names on one of them. */
const MOST_LINES = 1000;
const MOST_NAMES = 3;

/**
 * Formats a report for users: a line for each difference, which combines parts of the same kind and reason. Exactly
 * imported parts are only counted, in the last line.
 * @param noun what a server has become: `outbound`
 */
export function reportLines(report: ImportReport, noun: string): readonly string[] {
  const groups = new Map<
    string,
    { readonly item: ReportItem; readonly note: string; names: string[] }
  >();
  for (const item of report.items) {
    if (item.status !== 'changed' && item.status !== 'skipped') continue;
    // The default is reported among the problems.
    if (item.part === 'default') continue;
    for (const note of item.notes) {
      const key = JSON.stringify([item.part, item.status, note]);
      const group = groups.get(key) ?? { item, note, names: [] };
      group.names.push(nameOf(item));
      groups.set(key, group);
    }
  }
  const lines = Array.from(groups.values(), ({ item, note, names }) =>
    printable(lineOf(item, note, names)),
  );
  const shown =
    lines.length > MOST_LINES
      ? [
          ...lines.slice(0, MOST_LINES),
          `${lines.length - MOST_LINES} more lines: see --report json`,
        ]
      : lines;
  const summary = summaryOf(report, noun);
  return [...shown, ...report.problems.map(printable), ...(summary === '' ? [] : [summary])];
}

/** The names of parts, with their kind where the name alone is ambiguous. */
const nameOf = ({ part, source }: ReportItem): string => {
  const name = source.startsWith('entry ') ? source : quoted(source);
  switch (part) {
    case 'server':
    case 'key':
    case 'default':
      return name;
    case 'rule':
    case 'group':
    case 'inbound':
      return `${part} ${name}`;
    case 'dns':
      return `name server ${name}`;
    case 'log':
      return `log level ${name}`;
    default:
      return part satisfies never;
  }
};

function lineOf({ part, status }: ReportItem, note: string, names: readonly string[]): string {
  const shown = names.slice(0, MOST_NAMES).join(', ');
  const more = names.length - MOST_NAMES;
  const all = more > 0 ? `${shown} and ${more} more` : shown;
  const be = names.length === 1 ? ['was', 'is'] : ['were', 'are'];
  if (status === 'changed') return `${all}: ${note}`;
  if (part === 'key') return `${all} ${be[1]} not carried over: ${note}`;
  return `${all} ${be[0]} left out: ${note}`;
}

/** A summary: `2 outbounds, 1 group and 12 rules from a configuration of Clash or mihomo`. */
function summaryOf({ items, kind }: ImportReport, noun: string): string {
  const counts = PARTS.flatMap(([part, name]) => {
    const count = items.filter(
      (item) => item.part === part && (item.status === 'imported' || item.status === 'changed'),
    ).length;
    const what = part === 'server' ? noun : name;
    return count === 0 ? [] : [`${count} ${what}${count === 1 ? '' : 's'}`];
  });
  return counts.length === 0 ? '' : `${counts.join(', ')} from ${kind}`;
}

const PARTS: readonly (readonly [ReportItem['part'], string])[] = [
  ['server', 'server'],
  ['group', 'group'],
  ['rule', 'rule'],
  ['inbound', 'inbound'],
  ['dns', 'name server'],
];
