import { setTimeout as pause } from 'node:timers/promises';
import { Inspector } from '../soak/inspector.ts';
import type { Child } from '../support/process/child.ts';
import { residentBytes, threadSeconds } from '../support/process/proc.ts';

/** Arguments of Node with which a process can be observed. */
export const OBSERVED = ['--inspect=127.0.0.1:0'];

/** The process has nothing to do when it used less than this in a look, beside what it uses idle. */
const QUIET_SECONDS = 0.0004;
const LOOK_MS = 30;
/** Looks without work after which a batch is over: searches for users pause for this long at most. */
const QUIET_LOOKS = 3;
/** A batch may take this long; what it did until then counts. */
const MOST_LOOKS = 100;

/**
 * Measures stretches of processor time of the main thread between two timers, which work of other programs
 * does not lengthen. A stretch holds up to TICK_MS of other turns, so it is an upper bound of one turn.
 */
const TICK_MS = 5;
const PROBE = `
  globalThis.weirCost ??= (() => {
    const used = () => { const { user, system } = process.threadCpuUsage(); return (user + system) / 1000; };
    let longest = 0;
    let last = used();
    const tick = () => { const now = used(); longest = Math.max(longest, now - last); last = now; };
    setInterval(tick, ${TICK_MS}).unref();
    return { reset() { longest = 0; last = used(); }, read() { tick(); return longest; } };
  })();
  0`;

/** Memory of a process in bytes. */
export interface Held {
  /** Reachable objects and the memory outside of the heap that they own. */
  readonly reachable: number;
  readonly resident: number;
}

/** A running Weir, or a program beside it, with what it costs. */
export class ObservedProcess implements Disposable {
  readonly pid: number;
  readonly #inspector: Inspector;
  /** Processor seconds in a second without a client. */
  #idleShare = 0;

  private constructor(pid: number, inspector: Inspector) {
    this.pid = pid;
    this.#inspector = inspector;
  }

  /** @param child started with OBSERVED. */
  static async of(child: Child): Promise<ObservedProcess> {
    const url = await child.until(
      'its inspector',
      ({ stderr }) => /^Debugger listening on (\S+)$/m.exec(stderr)?.[1],
    );
    const observed = new ObservedProcess(child.pid, await Inspector.open(url));
    await observed.#inspector.evaluate(PROBE);
    await observed.#measureIdle();
    return observed;
  }

  /** The least of several samples: a process that has just started still compiles. */
  async #measureIdle(): Promise<void> {
    const SAMPLES = 5;
    const SAMPLE_MS = 200;
    let least = Infinity;
    for (let left = SAMPLES; left > 0; left--) {
      const before = this.seconds;
      const startedAt = performance.now();
      await pause(SAMPLE_MS);
      const share = (this.seconds - before) / ((performance.now() - startedAt) / 1000);
      least = Math.min(least, share);
    }
    this.#idleShare = least;
  }

  /** Processor seconds of all threads. */
  get seconds(): number {
    for (;;) {
      try {
        return threadSeconds(this.pid);
      } catch (error) {
        // A thread has ended between the list and the look.
        if (!(error instanceof Error && 'code' in error && error.code !== 'EACCES')) throw error;
      }
    }
  }

  /** Collects garbage, so that what is left is reachable. */
  collect(): Promise<void> {
    return this.#inspector.collectGarbage();
  }

  async held(): Promise<Held> {
    await this.collect();
    const usage = (await this.#inspector.evaluate('process.memoryUsage()')) as {
      readonly heapUsed: number;
      readonly external: number;
    };
    return { reachable: usage.heapUsed + usage.external, resident: residentBytes(this.pid) };
  }

  /** Begins to look for the longest turn. */
  async watchTurns(): Promise<void> {
    await this.#inspector.evaluate('weirCost.reset()');
  }

  /** Milliseconds of processor time of the longest turn since `watchTurns`, an upper bound. */
  async longestTurn(): Promise<number> {
    return Number(await this.#inspector.evaluate('weirCost.read()'));
  }

  /** Waits until nothing is left to do. @returns the processor seconds since `from` beside idle ones. */
  async settled(from: number, startedAt: number): Promise<number> {
    let last = this.seconds;
    let lastAt = performance.now();
    let end = last;
    let endAt = lastAt;
    for (let looks = 0, quiet = 0; quiet < QUIET_LOOKS && looks < MOST_LOOKS; looks++) {
      await pause(LOOK_MS);
      const now = this.seconds;
      const at = performance.now();
      const expected = this.#idleShare * ((at - lastAt) / 1000);
      if (now - last < 2 * expected + QUIET_SECONDS) {
        quiet++;
      } else {
        quiet = 0;
        end = now;
        endAt = at;
      }
      last = now;
      lastAt = at;
    }
    return Math.max(0, end - from - this.#idleShare * ((endAt - startedAt) / 1000));
  }

  [Symbol.dispose](): void {
    this.#inspector[Symbol.dispose]();
  }
}
