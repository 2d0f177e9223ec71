import type { Datagram, Node, Output } from './node.ts';
import { wait } from './node.ts';
import type { SeededRandom } from './seeded-random.ts';

/**
 * A node whose process shares its processor with others: it runs for a while and then waits for its
 * turn, in which nothing is received and no timer fires.
 *
 * @param works milliseconds for which it runs, on average.
 * @param waits milliseconds for which it does not.
 * @param buffer bytes that its socket holds meanwhile; what finds it full is lost.
 */
export function starved(
  node: Node,
  random: SeededRandom,
  works: number,
  waits: number,
  buffer = Infinity,
): Node {
  const arrived: Datagram[] = [];
  let held = 0;
  let runsUntil = 0;
  let runsFrom = 0;
  const about = (mean: number): number => 2 * mean * random.fraction();
  return {
    name: node.name,
    get done() {
      return node.done !== false;
    },
    process(datagram, now): Output {
      if (datagram && held + datagram.data.length <= buffer) {
        arrived.push(datagram);
        held += datagram.data.length;
      }
      if (now >= runsUntil) {
        runsFrom = now + about(waits);
        runsUntil = runsFrom + about(works);
      }
      if (now < runsFrom) return wait(runsFrom);
      for (let next = arrived.shift(); next; next = arrived.shift()) {
        held -= next.data.length;
        const output = node.process(next, now);
        if (output.kind === 'datagram') return output;
      }
      return node.process(undefined, now);
    },
  };
}
