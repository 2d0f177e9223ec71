import { UsageError } from '../../errors.ts';
import { printable, printableLines } from '../../printable.ts';
import type { Source } from '../../subscribe/source.ts';
import { addSource } from '../../subscribe/update/add-source.ts';
import { listSources } from '../../subscribe/update/list-sources.ts';
import { removeSource } from '../../subscribe/update/remove-source.ts';
import { updateTools } from '../../subscribe/update/update-tools.ts';
import { updateSources, type UpdateTools } from '../../subscribe/update/update.ts';
import type { SourceOutcome } from '../../subscribe/update/update-source.ts';
import { reportErrors, type CommandIo } from '../command.ts';
import { parseSubscribe, SUBSCRIBE, SUBSCRIBE_HELP, type SubscribeArguments } from './arguments.ts';
import {
  outcomeNotes,
  outcomesJson,
  outcomeText,
  sourcesJson,
  sourcesTable,
  unusedNote,
} from './views.ts';

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
