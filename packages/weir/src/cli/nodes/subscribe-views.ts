import { hintsOf } from '@weir/base';
import { printable, printableJson, printableLines, quoted } from '@weir/base/printable';
import {
  balancerLine,
  differenceLine,
  NO_DIFFERENCE,
  type Difference,
} from '@weir/nodes/subscribe/nodes/difference';
import type { ListedSource, SourceOutcome } from '@weir/nodes/subscribe';
import { age, bytes, day } from '@weir/base/text/amounts';
import { textTable, type Cell } from '@weir/base/tables';

/** Number of entries of each kind that are shown without --verbose. */
const SHOWN = 3;

/** The outcome of a source: a line for standard output, and with `verbose` a line for each node. */
export function outcomeText(outcome: SourceOutcome, verbose: boolean): string {
  const { source, kind, difference, balancers } = outcome;
  if (kind === 'refused' || kind === 'not_due') return '';
  const lines = balancers.map((each) => {
    const line = `${source}: ${balancerLine(each)}\n`;
    return verbose ? line + nodeLines({ ...NO_DIFFERENCE, ...each }) : line;
  });
  const line = `${source}: ${differenceLine(difference)}\n`;
  return [line, ...(verbose ? [nodeLines(difference)] : []), ...lines].join('');
}

function nodeLines({ added, removed, changed, kept }: Difference): string {
  const lines = (mark: string, names: readonly string[], note = ''): string =>
    names.map((name) => `  ${mark} ${printable(name)}${note}\n`).join('');
  return (
    lines('+', added) +
    lines('−', removed) +
    lines('~', changed) +
    lines('=', kept, ' (kept: in use, and gone from the source)')
  );
}

/** The unused parts of a document in addition to its nodes, as a line for standard error; empty if there are none. */
export function unusedNote({ source, unused }: SourceOutcome): string {
  const parts = [
    ...(unused?.groups ? [`${unused.groups} group${unused.groups === 1 ? '' : 's'}`] : []),
    ...(unused?.rules ? [`${unused.rules} rule${unused.rules === 1 ? '' : 's'}`] : []),
  ].join(' and ');
  if (parts === '') return '';
  const how = 'weir import --output FOLDER makes a configuration with them';
  return `weir subscribe: ${printable(source)}: nodes alone are taken, not ${parts}: ${how}\n`;
}

/** Remarks on a source for standard error, a line each. */
export function outcomeNotes(outcome: SourceOutcome, verbose: boolean): string {
  const { source, kind, difference, information, leftOut, notes, error } = outcome;
  const lines: string[] = [];
  if (error) {
    const nodes =
      kind === 'refused' ? 'refused, its nodes stay as they are' : 'its nodes are written';
    lines.push(`${source}: ${nodes}: ${error.message}`);
    lines.push(...hintsOf(error).map((hint) => `hint: ${hint}`));
  }
  if (kind === 'not_due' && verbose) lines.push(`${source}: not due yet`);
  if (information.length > 0) lines.push(`${source}: messages: ${listed(information, verbose)}`);
  const most = verbose ? leftOut.length : SHOWN;
  for (const { name, reason } of leftOut.slice(0, most)) {
    lines.push(`${source}: ${quoted(name)} was left out: ${reason}`);
  }
  if (leftOut.length > most) lines.push(`${source}: ${leftOut.length - most} more were left out`);
  lines.push(...notes.map((note) => `${source}: ${note}`));
  if (!verbose && difference.kept.length > 0) {
    lines.push(
      `${source}: kept although gone from the source, because they are in use: ${listed(difference.kept, verbose)}`,
    );
  }
  return lines.map((line) => `weir subscribe: ${printableLines(line)}\n`).join('');
}

function listed(names: readonly string[], verbose: boolean): string {
  const shown = names.slice(0, verbose ? names.length : SHOWN).map(quoted);
  const more = names.length - shown.length;
  return shown.join(', ') + (more > 0 ? ` and ${more} more` : '');
}

/** Outcomes as one line of JSON. */
export const outcomesJson = (outcomes: readonly SourceOutcome[]): string =>
  `${printableJson(
    outcomes.map(({ source, kind, difference, information, leftOut, error, ...more }) => ({
      source,
      outcome: kind,
      ...difference,
      information,
      left_out: leftOut,
      balancers: more.balancers,
      insecure: more.insecure,
      notes: more.notes,
      error: error?.message ?? null,
    })),
  )}\n`;

/** @param now Unix milliseconds */
export const sourcesTable = (sources: readonly ListedSource[], now: number): string =>
  textTable(
    ['NAME', 'HOST', 'NODES', 'AGE', 'USED', 'EXPIRES', 'DUE', 'LAST ERROR'],
    sources.map((source) => rowOf(source, now)),
  );

function rowOf(source: ListedSource, now: number): readonly Cell[] {
  const { name, host, nodes, kept, updated, due, userinfo, failure } = source;
  return [
    name,
    host,
    kept === 0 ? String(nodes) : `${nodes} + ${kept} kept`,
    updated === undefined ? undefined : age(now - updated),
    usage(userinfo),
    userinfo?.expire === undefined ? undefined : expiry(userinfo.expire * 1000, now),
    due <= now ? 'now' : `in ${age(due - now)}`,
    failure && `${age(now - failure.at)} ago: ${failure.message}`,
  ];
}

function usage(info: ListedSource['userinfo']): string | undefined {
  if (!info) return undefined;
  const { upload, download, total } = info;
  const used =
    upload === undefined && download === undefined ? '?' : bytes((upload ?? 0) + (download ?? 0));
  return total === undefined ? used : `${used} of ${bytes(total)}`;
}

const expiry = (at: number, now: number): string => (at <= now ? `${day(at)}, over` : day(at));

/** Sources as one line of JSON. Times are in ISO 8601, sizes in bytes, intervals in seconds. */
export const sourcesJson = (sources: readonly ListedSource[]): string =>
  `${printableJson(
    sources.map(({ userinfo, failure, updated, due, ...source }) => ({
      ...source,
      updated: timeText(updated),
      due: due === 0 ? null : timeText(due),
      upload: userinfo?.upload ?? null,
      download: userinfo?.download ?? null,
      total: userinfo?.total ?? null,
      expires: userinfo?.expire === undefined ? null : timeText(userinfo.expire * 1000),
      error: failure ? { at: timeText(failure.at), message: failure.message } : null,
    })),
  )}\n`;

function timeText(at: number | undefined): string | null {
  const date = new Date(at ?? Number.NaN);
  return Number.isNaN(date.valueOf()) ? null : date.toISOString();
}
