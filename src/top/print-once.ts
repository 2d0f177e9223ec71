import { HealthWatch } from '../monitor/health.ts';
import { draw } from './draw.ts';
import { lineText } from './line.ts';
import { sortFlows } from './sort-flows.ts';
import type { TopParts } from './terminal-program.ts';
import { FIRST_STATE } from './top-state.ts';

/** The size of the printed screen: the flows with the highest rates. */
const SIZE = { columns: 120, rows: 40 };
/** Milliseconds for two samples of traffic and two lists, which rates require. */
const WAIT_MS = 2_500;

/**
 * Prints the screen of the terminal program once, as plain text. Resolves with the exit status: 1 if the API cannot be
 * reached.
 */
export async function printOnce(parts: TopParts, output: NodeJS.WritableStream): Promise<number> {
  const { monitor, clock, failing, readOnly, name } = parts;
  using _ = monitor.hold();
  await settled(parts);
  const now = clock.wall();
  const flows = sortFlows(monitor.flows.values(), FIRST_STATE, now);
  const health = new HealthWatch(monitor).at(now);
  const snapshot = {
    now,
    health,
    monitor,
    flows,
    failing: failing.at(now),
    readOnly,
    name,
    size: SIZE,
  };
  const lines = draw(FIRST_STATE, snapshot)
    .slice(0, -1) // the keys
    .map((line) => lineText(line, SIZE.columns, 'none').trimEnd());
  while (lines.at(-1) === '') lines.pop();
  output.write(lines.map((line) => `${line}\n`).join(''));
  return monitor.api.kind === 'reached' ? 0 : 1;
}

/** Resolves when rates are known, or the API is known to be unreachable. */
async function settled({ monitor, clock }: TopParts): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = clock.after(WAIT_MS, resolve);
  // Keeps the process alive, which a clock's timers do not.
  const alive = setInterval(() => undefined, WAIT_MS);
  using _ = monitor.onChange(() => {
    const isLost = monitor.api.kind === 'lost' || monitor.api.kind === 'absent';
    if (isLost && monitor.socket.kind !== 'connecting') resolve();
  });
  await promise;
  timer.cancel();
  clearInterval(alive);
}
