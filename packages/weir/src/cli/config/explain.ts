import { isUtf8 } from 'node:buffer';
import {
  explainerOf,
  explainFlow,
  chooseInbound,
  queryOf,
  loadRoutes,
  type LoadedRoutes,
  explainText,
  placeText,
  BatchError,
  LARGEST_BATCH,
  readBatch,
  withOutbounds,
  type BatchLine,
} from '@weir/nodes/explain';
import { printable, printableJson } from '@weir/base/printable';
import {
  commandOf,
  type CommandIo,
  expectOperands,
  optionLines,
  parseOptions,
} from '../command.ts';
import { loadOrReport } from '../load.ts';
import { UsageError, messageOf } from '@weir/base';
import { parseFlow } from '@weir/nodes/explain/flow';
import { EXPLAIN } from './specs.ts';
import { fileReason, openRegularFile } from '@weir/io/files';
import { replaceFile } from '@weir/server/files';

const EXPLAIN_HELP = `Prints where a flow to a destination would go, and why.

Usage: weir explain HOST:PORT [options]
       weir explain --batch FILE [--write] [--config FILE] [--json]

Options:
${optionLines(EXPLAIN.options)}
Nothing is resolved, dialled or bound. IPv6 is written in brackets: [2001:db8::1]:443. A URL stands
for its host and port: https://example.com/path.
`;

/** Parses the arguments of `weir explain`. @throws {UsageError} for invalid arguments */
function parseExplain(argv: readonly string[]) {
  const { values, positionals } = parseOptions(argv, EXPLAIN.options);
  if (values.help === true) return undefined;
  const { config, batch, write = false, json = false } = values;
  if (batch !== undefined) {
    expectOperands('explain --batch', positionals);
    const { from, inbound, network, sniffed } = values;
    if ([from, inbound, network, sniffed].some((value) => value !== undefined)) {
      throw new UsageError('with --batch the properties of flows are in the file');
    }
    return { kind: 'batch' as const, config, file: batch, write, json };
  }
  if (write) throw new UsageError('--write needs --batch');
  expectOperands('explain', positionals, EXPLAIN.operands);
  const flow = parseFlow(positionals[0] ?? '', values, '--');
  return { kind: 'explain' as const, config, json, ...flow };
}

type Parsed = NonNullable<ReturnType<typeof parseExplain>>;
type ExplainArguments = Extract<Parsed, { readonly kind: 'explain' }>;
type BatchArguments = Extract<Parsed, { readonly kind: 'batch' }>;

/**
 * `weir explain`: prints where a configuration routes a flow, and why. Resolves with the exit
 * status: 1 for an invalid configuration.
 * @throws {UsageError}
 */
export const explainCommand = commandOf<Parsed>(
  EXPLAIN.name,
  EXPLAIN_HELP,
  parseExplain,
  async (asked, io) => {
    if (asked.kind === 'batch') return batchCommand(asked, io);
    const status = await loadOrReport(asked.config, async (path, input) => {
      await answer(asked, await loadRoutes(path, input), io);
      return 0;
    });
    return status ?? 1;
  },
);

async function answer(asked: ExplainArguments, routes: LoadedRoutes, io: CommandIo): Promise<void> {
  const explained = explainFlow(asked, routes, explainerOf(routes));
  const notes = explained.notes.map(({ text, option }) =>
    option === undefined ? text : `${text}; see --${option}`,
  );
  if (asked.json) {
    io.stdout.write(`${printableJson(explained.answer)}\n`);
    io.stderr.write(notes.map((note) => `weir explain: ${printable(note)}\n`).join(''));
  } else {
    io.stdout.write(explainText(routes, { ...explained, notes }));
  }
}

/** A line whose flow is routed to another outbound, in the JSON of `weir explain --batch`. */
interface BatchMismatch {
  readonly line: number;
  readonly flow: string;
  /** Null for a line without an expectation. */
  readonly expected: string | null;
  readonly outbound: string;
  /** Index of the rule that matched; null for the default route. */
  readonly rule: number | null;
  /** Place of the rule: `weir.toml:12`. */
  readonly place: string;
}

/**
 * `weir explain --batch`. Resolves with the exit status: 1 if a route differs from the expected one, or the
 * configuration is invalid; with `--write`, only for the latter.
 * @throws {BatchError}
 */
async function batchCommand(asked: BatchArguments, io: CommandIo): Promise<number> {
  const text = await readBatchFile(asked.file);
  const lines = readBatch(text, asked.file);
  const status = await loadOrReport(asked.config, async (path, input) => {
    const routes = await loadRoutes(path, input);
    const mismatches = mismatchesOf(lines, routes, asked.file);
    if (asked.write && mismatches.length > 0) {
      const found = new Map(mismatches.map(({ line, outbound }) => [line, outbound]));
      await writeBatchFile(asked.file, withOutbounds(text, lines, found));
    }
    const result = { cases: lines.length, mismatches };
    const shown = asked.json ? `${printableJson(result)}\n` : batchText(asked, lines, mismatches);
    io.stdout.write(shown);
    return mismatches.length > 0 && !asked.write ? 1 : 0;
  });
  return status ?? 1;
}

function mismatchesOf(
  lines: readonly BatchLine[],
  routes: LoadedRoutes,
  file: string,
): readonly BatchMismatch[] {
  const { spec, places } = routes;
  const explainer = explainerOf(routes);
  const mismatches: BatchMismatch[] = [];
  for (const { line, text, flow, expected } of lines) {
    const { outbound, rule } = explainer.decide(queryAt(line, flow));
    if (outbound === expected) continue;
    mismatches.push({
      line,
      flow: text,
      expected: expected ?? null,
      outbound,
      rule: rule ?? null,
      place: placeText(places.of(rule)),
    });
  }
  return mismatches;

  /** The query of a line's flow. An unknown inbound is an error of its line. */
  function queryAt(line: number, flow: BatchLine['flow']) {
    try {
      return queryOf(flow, chooseInbound(spec, flow.inbound));
    } catch (error) {
      if (!(error instanceof UsageError)) throw error;
      throw new BatchError(`${file}:${line}: ${error.message}`, { cause: error });
    }
  }
}

function batchText(
  { file, write: isWritten }: BatchArguments,
  lines: readonly BatchLine[],
  mismatches: readonly BatchMismatch[],
): string {
  const rows = mismatches.map(({ line, flow, expected, outbound, rule, place }) => {
    const by = rule === null ? `the default route, ${place}` : `rule ${rule}, ${place}`;
    const wanted = expected === null ? 'nothing is expected' : `expected ${expected}`;
    return `${file}:${line}: ${flow}: ${wanted}, found ${outbound} by ${by}`;
  });
  const count = `${lines.length - mismatches.length} of ${lines.length} as expected`;
  const last =
    isWritten && mismatches.length > 0 ? `${count}; ${mismatches.length} written` : count;
  return [...rows, last].map((row) => `${printable(row)}\n`).join('');
}

/** Reads the file of expectations. @throws {BatchError} */
async function readBatchFile(path: string): Promise<string> {
  let bytes: Buffer;
  try {
    await using file = await openRegularFile(path);
    const { size } = await file.stat();
    if (size > LARGEST_BATCH) throw new BatchError('the file is larger than 16 MiB');
    bytes = await file.readFile();
  } catch (error) {
    throw new BatchError(`cannot read ${path}: ${fileReason(error)}`, { cause: error });
  }
  if (!isUtf8(bytes)) throw new BatchError(`cannot read ${path}: it is not UTF-8`);
  return bytes.toString('utf8');
}

/** Writes the file of expectations. @throws {BatchError} */
async function writeBatchFile(path: string, text: string): Promise<void> {
  try {
    await replaceFile(path, Buffer.from(text));
  } catch (error) {
    throw new BatchError(`cannot write ${path}: ${messageOf(error)}`, { cause: error });
  }
}
