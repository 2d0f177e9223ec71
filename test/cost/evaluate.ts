import type { Attack } from './attack.ts';
import { send, type Place } from './flood.ts';
import { microsOf, type HonestCost } from './honest.ts';
import type { ObservedProcess } from './observed-process.ts';

/** What one batch of clients has cost, for each of them. */
export interface Cost {
  /** Bytes on the wire. */
  readonly bytes: number;
  /** Microseconds of processor time, the end of the connection included. */
  readonly micros: number;
  /** That time in terms of what an honest flow with as many bytes takes. */
  readonly ratio: number;
  /** Bytes of reachable memory while the connections are open. */
  readonly held: number;
  /** Bytes by which the process has grown. */
  readonly resident: number;
  /** Milliseconds of processor time of the longest turn. */
  readonly longestTurn: number;
}

/** Runs one batch, and waits until the process has ended all that it caused. */
export async function evaluate(
  attack: Attack,
  place: Place,
  observed: ObservedProcess,
  honest: HonestCost,
): Promise<Cost> {
  const before = await observed.held();
  await observed.watchTurns();
  const startedAt = performance.now();
  const start = observed.seconds;
  const flood = await send(attack, place);
  const work = await observed.settled(start, startedAt);
  const longestTurn = await observed.longestTurn();
  const during = await observed.held();
  const endedAt = performance.now();
  const end = observed.seconds;
  await flood[Symbol.asyncDispose]();
  const after = await observed.settled(end, endedAt);
  const { clients } = attack;
  // An input that sends nothing, such as no datagram, costs no byte.
  const bytes = Math.max(1, flood.wireBytes / clients);
  const micros = ((work + after) * 1e6) / clients;
  return {
    bytes,
    micros,
    ratio: micros / microsOf(honest, bytes),
    held: Math.max(0, during.reachable - before.reachable) / clients,
    resident: Math.max(0, during.resident - before.resident) / clients,
    longestTurn,
  };
}
