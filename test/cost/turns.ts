import { send } from './flood.ts';
import type { Target } from './target.ts';

/** A beginning that the search starts from, and the longest turn of the event loop while clients sent it. */
export interface Turn {
  readonly story: string;
  /** Milliseconds of processor time. */
  readonly milliseconds: number;
}

/** Source addresses that the clients share, which is below the bounds of one source. */
const SOURCES = 8;

/**
 * Has many clients at once send each beginning to one process, one beginning after the other.
 * @returns the longest turns, the longest first
 */
export async function longestTurns(target: Target, clients: number): Promise<readonly Turn[]> {
  await using running = await target.start();
  const { observed, place, seeds } = running;
  const turns: Turn[] = [];
  for (const seed of seeds) {
    await observed.watchTurns();
    const from = observed.seconds;
    const startedAt = performance.now();
    // A handshake costs the clients' side as much.
    const count = Math.ceil(seed.insideTls ? clients / 2 : clients);
    await using _flood = await send({ ...seed, clients: count, sources: SOURCES }, place);
    await observed.settled(from, startedAt);
    turns.push({ story: seed.story.join(' + '), milliseconds: await observed.longestTurn() });
  }
  return turns.toSorted((a, b) => b.milliseconds - a.milliseconds);
}
