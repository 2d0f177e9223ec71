import type { ObservedProcess } from './observed-process.ts';

/** Payload of the two measured flows of honest clients, in bytes. */
const SMALL = 64;
const LARGE = 32 << 10;
/** Flows of one measurement, one after another. */
const FLOWS = 30;
const ROUNDS = 3;

/** What honest authenticated clients cost: a line through a short and a long flow. */
export interface HonestCost {
  /** Microseconds of a connection with one flow, whatever it carries. */
  readonly connection: number;
  /** Microseconds of one further byte. */
  readonly byte: number;
  /** Bytes on the wire of the short flow. */
  readonly leastBytes: number;
}

/** Microseconds of an honest flow with so many bytes; the shortest one counts for fewer. */
export const microsOf = ({ connection, byte, leastBytes }: HonestCost, bytes: number): number =>
  connection + byte * Math.max(bytes, leastBytes);

/**
 * One flow of an honest client with a payload of that size, there and back.
 * @returns the bytes that the client has sent.
 */
export type HonestFlow = (payload: number) => Promise<number>;

/** Measures honest clients; the least of several rounds counts, since a busy machine only adds. */
export async function measureHonest(
  flow: HonestFlow,
  observed: ObservedProcess,
): Promise<HonestCost> {
  await round(flow, SMALL, observed); // compiles
  const small = await least(flow, SMALL, observed);
  const large = await least(flow, LARGE, observed);
  const byte = Math.max(0, (large.micros - small.micros) / Math.max(1, large.bytes - small.bytes));
  return {
    connection: Math.max(1, small.micros - byte * small.bytes),
    byte,
    leastBytes: small.bytes,
  };
}

interface Round {
  readonly micros: number;
  readonly bytes: number;
}

async function least(flow: HonestFlow, payload: number, observed: ObservedProcess): Promise<Round> {
  let best: Round | undefined;
  for (let left = ROUNDS; left > 0; left--) {
    const next = await round(flow, payload, observed);
    if (!best || next.micros < best.micros) best = next;
  }
  if (!best) throw new Error('no round was measured');
  return best;
}

async function round(flow: HonestFlow, payload: number, observed: ObservedProcess): Promise<Round> {
  await observed.collect();
  const startedAt = performance.now();
  const start = observed.seconds;
  let bytes = 0;
  for (let left = FLOWS; left > 0; left--) bytes += await flow(payload);
  const work = await observed.settled(start, startedAt);
  return { micros: (work * 1e6) / FLOWS, bytes: bytes / FLOWS };
}
