import { UsageError } from '@weir/base';
import { printable, printableLines } from '@weir/base/printable';
import {
  type Source,
  addSource,
  listSources,
  removeSource,
  updateTools,
  updateSources,
  type UpdateTools,
  type SourceOutcome,
} from '@weir/nodes/subscribe';
import {
  reportErrors,
  type CommandIo,
  chooseSubcommand,
  expectOperands,
  parseOptions,
} from '../command.ts';
import { SUBSCRIBE, ADD_OPTIONS, UPDATE_OPTIONS, REMOVE_OPTIONS } from './specs.ts';
import {
  outcomeNotes,
  outcomesJson,
  outcomeText,
  sourcesJson,
  sourcesTable,
  unusedNote,
} from './subscribe-views.ts';
import { commandLines, optionLines, subcommandOptionLines } from '../help.ts';
import { parseBytes, parseDuration } from '../option-values.ts';

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

/** Parsed options that all commands share. */
interface CommonArguments {
  readonly config: string;
  readonly json: boolean;
  readonly verbose: boolean;
  readonly dryRun: boolean;
  readonly force: boolean;
  readonly socket: string | undefined;
}

type SubscribeArguments =
  | (CommonArguments & {
      readonly kind: 'add';
      readonly name: string;
      /** The URL of the source; `-` to read it from standard input. */
      readonly url: string;
      readonly outbound: string | undefined;
      readonly userAgent: string | undefined;
      /** Update interval in seconds. */
      readonly interval: number | undefined;
      /** Maximum bytes of a response. */
      readonly maxSize: number | undefined;
      /** Time limit of a fetch, in seconds. */
      readonly timeout: number | undefined;
    })
  | (CommonArguments & {
      readonly kind: 'update';
      readonly names: readonly string[];
      readonly ifDue: boolean;
    })
  | (CommonArguments & { readonly kind: 'list' })
  | (CommonArguments & { readonly kind: 'remove'; readonly name: string });

/** Parses the arguments of `weir subscribe`. @throws {UsageError} for invalid arguments */
export function parseSubscribe(
  argv: readonly string[],
): SubscribeArguments | { readonly kind: 'help' } {
  const parsed = parse(argv);
  const { values } = parsed;
  if (values.help === true) return { kind: 'help' };
  const { chosen, operands } = chooseSubcommand(SUBSCRIBE, parsed);
  const { config = '', json = false, verbose = false, force = false, socket } = values;
  if (config === '') throw new UsageError(`subscribe ${chosen.name} needs --config FILE`);
  const common = { config, json, verbose, force, socket, dryRun: values['dry-run'] ?? false };
  return toArguments(chosen.name, operands, values, common);
}

function toArguments(
  kind: (typeof SUBSCRIBE.commands)[number]['name'],
  operands: readonly string[],
  values: Values,
  common: CommonArguments,
): SubscribeArguments {
  const [name = '', url = ''] = operands;
  switch (kind) {
    case 'add': {
      expectOperands('subscribe add', operands, 'NAME URL');
      const { outbound, interval, timeout } = values;
      return {
        ...common,
        kind,
        name,
        url,
        outbound,
        userAgent: values['user-agent'],
        interval: interval === undefined ? undefined : parseDuration('--interval', interval),
        maxSize:
          values['max-size'] === undefined
            ? undefined
            : parseBytes('--max-size', values['max-size']),
        timeout: timeout === undefined ? undefined : parseDuration('--timeout', timeout),
      };
    }
    case 'update':
      if (values.all === true && operands.length > 0) {
        throw new UsageError('subscribe update takes either names or --all');
      }
      return { ...common, kind, names: operands, ifDue: values['if-due'] ?? false };
    case 'list':
      expectOperands('subscribe list', operands);
      return { ...common, kind };
    case 'remove':
      expectOperands('subscribe remove', operands, 'NAME');
      return { ...common, kind, name };
    default:
      return kind satisfies never;
  }
}

type Values = ReturnType<typeof parse>['values'];

const parse = (argv: readonly string[]) =>
  parseOptions(argv, {
    ...SUBSCRIBE.options,
    ...ADD_OPTIONS,
    ...UPDATE_OPTIONS,
    ...REMOVE_OPTIONS,
  });

/**
 * `weir subscribe`. Resolves with the exit status: 1 if a source was rejected, nothing could be done, or it is not
 * known whether the running Weir has loaded the written files.
 * @throws {UsageError}
 */
export async function subscribeCommand(argv: readonly string[], io: CommandIo): Promise<number> {
  const given = parseSubscribe(argv);
  if (given.kind === 'help') {
    io.stdout.write(SUBSCRIBE_HELP);
    return 0;
  }
  return reportErrors(`${SUBSCRIBE.name} ${given.kind}`, io, () => carryOut(given, io));
}

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
