import { isUtf8 } from 'node:buffer';
import { readReason } from '../../app/loading/files-read.ts';
import { replaceFile } from '../../app/replace-file.ts';
import { UsageError, messageOf } from '../../errors.ts';
import {
  BatchError,
  LARGEST_BATCH,
  readBatch,
  withOutbounds,
  type BatchLine,
} from '../../explain/batch.ts';
import { explainerOf } from '../../explain/explain-flow.ts';
import type { LoadedRoutes } from '../../explain/load-routes.ts';
import { chooseInbound, queryOf } from '../../explain/query.ts';
import { placeText } from '../../explain/text.ts';
import { openRegularFile } from '../../platform/regular-file.ts';
import { printable, printableJson } from '../../printable.ts';
import type { CommandIo } from '../command.ts';
import type { BatchArguments } from './arguments.ts';
import { withRoutes } from './with-routes.ts';

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
export async function batchCommand(asked: BatchArguments, io: CommandIo): Promise<number> {
  const text = await read(asked.file);
  const lines = readBatch(text, asked.file);
  const status = await withRoutes(asked.config, async (routes) => {
    const mismatches = mismatchesOf(lines, routes, asked.file);
    if (asked.write && mismatches.length > 0) {
      const found = new Map(mismatches.map(({ line, outbound }) => [line, outbound]));
      await write(asked.file, withOutbounds(text, lines, found));
    }
    const result = { cases: lines.length, mismatches };
    const shown = asked.json ? `${printableJson(result)}\n` : textOf(asked, lines, mismatches);
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

function textOf(
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
async function read(path: string): Promise<string> {
  let bytes: Buffer;
  try {
    await using file = await openRegularFile(path);
    const { size } = await file.stat();
    if (size > LARGEST_BATCH) throw new BatchError('the file is larger than 16 MiB');
    bytes = await file.readFile();
  } catch (error) {
    throw new BatchError(`cannot read ${path}: ${readReason(error)}`, { cause: error });
  }
  if (!isUtf8(bytes)) throw new BatchError(`cannot read ${path}: it is not UTF-8`);
  return bytes.toString('utf8');
}

/** Writes the file of expectations. @throws {BatchError} */
async function write(path: string, text: string): Promise<void> {
  try {
    await replaceFile(path, Buffer.from(text));
  } catch (error) {
    throw new BatchError(`cannot write ${path}: ${messageOf(error)}`, { cause: error });
  }
}
