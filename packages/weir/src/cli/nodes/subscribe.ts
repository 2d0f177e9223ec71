import { UsageError, hintsOf } from '@weir/base';
import { printable, printableLines, printableJson, quoted } from '@weir/base/printable';
import {
  type Source,
  addSource,
  listSources,
  removeSource,
  updateTools,
  updateSources,
  type UpdateTools,
  type SourceOutcome,
  type ListedSource,
} from '@weir/nodes/subscribe';
import {
  commandLines,
  commandOf,
  type CommandIo,
  optionLines,
  subcommandOptionLines,
  subcommandParser,
} from '../command.ts';
import { SUBSCRIBE } from './specs.ts';
import { parseBytes, parseDuration } from '../option-values.ts';
import {
  balancerLine,
  differenceLine,
  NO_DIFFERENCE,
  type Difference,
} from '@weir/nodes/subscribe/nodes/difference';
import { age, bytes, day } from '@weir/base/text/amounts';
import { textTable, type Cell } from '@weir/base/tables';

const SUBSCRIBE_HELP = `weir subscribe, nodes from the URLs of providers

Usage: weir subscribe COMMAND --config FILE [options]

Commands:
${commandLines(SUBSCRIBE.commands)}
Options:
${optionLines(SUBSCRIBE.options)}
${subcommandOptionLines(SUBSCRIBE.commands)}A list is taken over when the whole configuration is valid with it, and the running Weir is
reloaded then. Anything else, such as a web page, an expired account or half a list, changes
nothing: the exit status is 1. A node keeps the name that it got first; one that is gone stays
while something refers to it.
`;

export const parseSubscribe = subcommandParser(SUBSCRIBE, (kind, values, operands) => {
  const { config, json = false, verbose = false, force = false, socket } = values;
  if (config === undefined) throw new UsageError(`subscribe ${kind} needs --config FILE`);
  const common = { config, json, verbose, force, socket, dryRun: values['dry-run'] ?? false };
  const [name = '', url = ''] = operands;
  switch (kind) {
    case 'add': {
      const { outbound, interval, timeout } = values;
      return {
        ...common,
        kind,
        name,
        /** The URL of the source; `-` to read it from standard input. */
        url,
        outbound,
        userAgent: values['user-agent'],
        /** Update interval in seconds. */
        interval: interval === undefined ? undefined : parseDuration('--interval', interval),
        /** Maximum bytes of a response. */
        maxSize:
          values['max-size'] === undefined
            ? undefined
            : parseBytes('--max-size', values['max-size']),
        /** Time limit of a fetch, in seconds. */
        timeout: timeout === undefined ? undefined : parseDuration('--timeout', timeout),
      };
    }
    case 'update':
      if (values.all === true && operands.length > 0) {
        throw new UsageError('subscribe update takes either names or --all');
      }
      return { ...common, kind, names: operands, ifDue: values['if-due'] ?? false };
    case 'list':
      return { ...common, kind };
    case 'remove':
      return { ...common, kind, name };
    default:
      return kind satisfies never;
  }
});

type SubscribeArguments = NonNullable<ReturnType<typeof parseSubscribe>>;

/**
 * `weir subscribe`. Resolves with the exit status: 1 if a source was rejected, nothing could be done, or it is not
 * known whether the running Weir has loaded the written files.
 * @throws {UsageError}
 */
export const subscribeCommand = commandOf(
  ({ kind }) => `${SUBSCRIBE.name} ${kind}`,
  SUBSCRIBE_HELP,
  parseSubscribe,
  (given, io) => carryOut(given, io),
);

async function carryOut(given: SubscribeArguments, io: CommandIo): Promise<number> {
  const { config, dryRun, force, json } = given;
  const tools = toolsOf(given, io);
  switch (given.kind) {
    case 'add': {
      const { name, outbound, userAgent, interval, maxSize, timeout } = given;
      const url = given.url === '-' ? await firstLineOf(process.stdin) : given.url;
      const source = { name, url, outbound, userAgent, interval, maxSize, timeout };
      const outcome = await addSource({ config, source, dryRun, force }, tools);
      const status = show([outcome], given, io);
      // Once: later updates need no reminder.
      io.stderr.write(unusedNote(outcome));
      return status;
    }
    case 'update': {
      const { names, ifDue } = given;
      return show(await updateSources({ config, names, ifDue, dryRun, force }, tools), given, io);
    }
    case 'list': {
      const sources = await listSources(config);
      io.stdout.write(json ? sourcesJson(sources) : sourcesTable(sources, Date.now()));
      return 0;
    }
    case 'remove': {
      const { name } = given;
      const { removed, kept } = await removeSource({ config, name, dryRun, force }, tools);
      io.stdout.write(
        json
          ? `${JSON.stringify({ source: name, removed, kept })}\n`
          : `${name}: −${removed.length}\n`,
      );
      for (const node of kept) {
        io.stderr.write(`weir subscribe: ${printable(node)} is in use, and yours from now on\n`);
      }
      return 0;
    }
    default:
      return given satisfies never;
  }
}

function show(
  outcomes: readonly SourceOutcome[],
  { json, verbose }: SubscribeArguments,
  io: CommandIo,
): number {
  io.stdout.write(
    json
      ? outcomesJson(outcomes)
      : outcomes.map((outcome) => outcomeText(outcome, verbose)).join(''),
  );
  io.stderr.write(outcomes.map((outcome) => outcomeNotes(outcome, verbose)).join(''));
  return outcomes.some(({ error }) => error !== undefined) ? 1 : 0;
}

function toolsOf({ config, socket, verbose }: SubscribeArguments, io: CommandIo): UpdateTools {
  const tell = ({ name }: Source, notes: readonly string[]): void => {
    for (const note of notes) {
      io.stderr.write(`weir subscribe: ${printableLines(`${name}: fetched ${note}`)}\n`);
    }
  };
  return updateTools({ config, socket, io, ...(verbose && { onFetch: tell }) });
}

const LONGEST_URL = 64 * 1024;

/** The first line of a stream. @throws {UsageError} without one */
async function firstLineOf(stream: NodeJS.ReadableStream): Promise<string> {
  let text = '';
  for await (const chunk of stream.setEncoding('utf8')) {
    text += String(chunk);
    if (text.includes('\n') || text.length > LONGEST_URL) break;
  }
  const [line = ''] = text.split('\n', 1);
  if (line.trim() === '') throw new UsageError('no URL on standard input');
  return line.trim();
}

/** Number of entries of each kind that are shown without --verbose. */
const SHOWN = 3;

/** The outcome of a source: a line for standard output, and with `verbose` a line for each node. */
function outcomeText(outcome: SourceOutcome, verbose: boolean): string {
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
function unusedNote({ source, unused }: SourceOutcome): string {
  const parts = [
    ...(unused?.groups ? [`${unused.groups} group${unused.groups === 1 ? '' : 's'}`] : []),
    ...(unused?.rules ? [`${unused.rules} rule${unused.rules === 1 ? '' : 's'}`] : []),
  ].join(' and ');
  if (parts === '') return '';
  const how = 'weir import --output FOLDER makes a configuration with them';
  return `weir subscribe: ${printable(source)}: nodes alone are taken, not ${parts}: ${how}\n`;
}

/** Remarks on a source for standard error, a line each. */
function outcomeNotes(outcome: SourceOutcome, verbose: boolean): string {
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
const sourcesTable = (sources: readonly ListedSource[], now: number): string =>
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
const sourcesJson = (sources: readonly ListedSource[]): string =>
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
