import type { Datagram, Node } from './node.ts';

export interface SimulationOptions {
  /** Printed when the simulation fails, so that it can be repeated. */
  readonly seed: number;
  /** Virtual milliseconds after which a simulation that has not reached its goals fails. */
  readonly limit: number;
  /**
   * Lets code go on that waits for promises alone. Left out for nodes that do all their work in
   * `process`.
   */
  readonly settle?: () => Promise<void>;
  /** Called whenever virtual time moves, for a clock that nodes share. */
  readonly onTime?: (now: number) => void;
}

/** A simulation that did not reach its goals, or in which a node broke an invariant. */
export class SimulationError extends Error {
  constructor(message: string, seed: number, now: number, cause?: unknown) {
    super(`${message} (seed ${seed}, at ${now.toFixed(3)} ms)`, { cause });
  }
}

/** Turns of one moment after which nodes that keep sending to each other count as stuck. */
const MOST_TURNS = 1_000_000;

/**
 * Runs a ring of nodes, each sending to the next: an endpoint, the path to the other endpoint, that
 * endpoint, the path back. Virtual time jumps to the next deadline. Returns the time at which every
 * node with a goal had reached it.
 *
 * @throws {SimulationError} when nothing is left to happen before that, or the time is over.
 */
export async function simulate(
  nodes: readonly Node[],
  { seed, limit, settle, onTime }: SimulationOptions,
): Promise<number> {
  const inputs: Datagram[][] = nodes.map(() => []);
  let now = 0;
  const fail = (message: string, cause?: unknown): never => {
    throw new SimulationError(message, seed, now, cause);
  };
  for (;;) {
    const next = await runMoment();
    const missing = nodes.filter(({ done }) => done === false);
    if (missing.length === 0) return now;
    const names = missing.map(({ name }) => name).join(', ');
    if (next === Infinity) fail(`nothing is left to happen, and ${names} did not finish`);
    if (next > limit) fail(`${names} did not finish in time`);
    if (next < now) fail('a deadline lies in the past');
    now = next;
    onTime?.(now);
  }

  /** Lets everything happen that happens now, and returns when something happens next. */
  async function runMoment(): Promise<number> {
    for (let turns = 0; turns < MOST_TURNS; turns++) {
      const { moved, next } = runTurn();
      if (moved) continue;
      if (!settle) return next;
      await settle();
      const after = runTurn();
      if (!after.moved) return after.next;
    }
    return fail('the nodes never come to rest');
  }

  /** Asks every node once, and again while it sends. */
  function runTurn(): { readonly moved: boolean; readonly next: number } {
    let moved = false;
    let next = Infinity;
    for (const [index, node] of nodes.entries()) {
      const input = inputs[index] ?? [];
      const output = inputs[(index + 1) % nodes.length] ?? [];
      for (;;) {
        const result = ask(node, input.shift());
        if (result.kind === 'datagram') {
          moved = true;
          output.push(result.datagram);
          continue;
        }
        if (input.length > 0) continue;
        if (result.kind === 'wait') next = Math.min(next, result.until);
        break;
      }
    }
    return { moved: moved || inputs.some((input) => input.length > 0), next };
  }

  function ask(node: Node, datagram: Datagram | undefined): ReturnType<Node['process']> {
    try {
      const result = node.process(datagram, now);
      node.check?.(now);
      return result;
    } catch (error) {
      return fail(`${node.name} failed: ${String(error)}`, error);
    }
  }
}
