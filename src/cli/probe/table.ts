import { printable } from '../../printable.ts';
import type { ProbedOutbound, ProbeTry } from '../../probe/contract.ts';
import { PHASE_NAMES } from '../../probe/phases.ts';
import { bytes, milliseconds } from '../../text/amounts.ts';
import { textTable, type Cell } from '../../text/text-table.ts';

const HEADS = ['', 'OUTBOUND', 'PROTOCOL', 'DIAL', 'HANDSHAKE', 'FIRST BYTE', 'SECOND', 'TRIES'];

/** Marks the outbound with the fastest second request, among those without a failed try. */
const BEST = '*';

/** The results as text: the table, and below it the causes of failed tries. */
export function probeTable(results: readonly ProbedOutbound[]): string {
  const best = bestOf(results);
  const measured = results.some((each) => each.throughput ?? each.throughput_error);
  const rows = results.map((result): readonly Cell[] => {
    const { outbound, protocol, median, tries, succeeded } = result;
    return [
      result === best ? BEST : ' ',
      outbound,
      protocol,
      dialCell(result),
      time(median.handshake_ms),
      time(median.first_byte_ms),
      time(median.second_ms),
      `${succeeded}/${tries.length}`,
      ...(measured ? [rateOf(result)] : []),
    ];
  });
  return textTable(measured ? [...HEADS, 'RATE'] : HEADS, rows) + failures(results);
}

function dialCell({ tries, median }: ProbedOutbound): Cell {
  return tries.some(({ ok, reused }) => ok && reused) ? 'reused' : time(median.dial_ms);
}

const time = (ms: number | null): Cell => (ms === null ? null : milliseconds(ms));

const rateOf = ({ throughput }: ProbedOutbound): Cell =>
  throughput && `${bytes(throughput.bytes_per_second)}/s`;

function bestOf(results: readonly ProbedOutbound[]): ProbedOutbound | undefined {
  let best: ProbedOutbound | undefined;
  for (const result of results) {
    const { second_ms: second } = result.median;
    if (second === null || result.succeeded < result.tries.length) continue;
    if (second < (best?.median.second_ms ?? Infinity)) best = result;
  }
  return best;
}

/** A line for each outbound and cause: `tokyo: dial: connection refused (3 times)`. */
function failures(results: readonly ProbedOutbound[]): string {
  const lines = results.flatMap(({ outbound, tries, throughput_error: slow }) => [
    ...[...countsOf(tries)].map(
      ([cause, count]) => `${outbound}: ${cause}${count > 1 ? ` (${count} times)` : ''}`,
    ),
    ...(slow === null ? [] : [`${outbound}: throughput: ${slow}`]),
  ]);
  return lines.length === 0 ? '' : `\n${lines.map((line) => `${printable(line)}\n`).join('')}`;
}

function countsOf(tries: readonly ProbeTry[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { phase, error } of tries) {
    if (phase === null) continue;
    const cause = `${PHASE_NAMES[phase]}: ${error ?? ''}`;
    counts.set(cause, (counts.get(cause) ?? 0) + 1);
  }
  return counts;
}
