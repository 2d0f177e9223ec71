import { getSystemErrorMap } from 'node:util';
import { eventually } from '../support/wait.ts';
import { CALLS, failureText, isTransparent, type Failure, type Fault } from './faults.ts';
import { errnoOf } from './inside/trigger.ts';
import { Violation, type Outcome, type Scenario, type Stage } from './scenario.ts';
import type { State } from './victim.ts';

/** What a run is limited to. */
export interface Limits {
  /** The first and the last n that is tried of each call. */
  readonly from: number;
  readonly to: number;
  readonly call?: string | undefined;
  readonly fault?: string | undefined;
  /** Only every so many of the failures; 1 for all. */
  readonly every: number;
  /** Failures before the first one, less than `every`; by default at random. */
  readonly first?: number | undefined;
}

export interface Result {
  /** Failures that were made, and those among them that the client noticed. */
  failures: number;
  noticed: number;
  /** Failures by call. */
  readonly calls: Map<string, number>;
  readonly violations: string[];
}

/** A scenario with the way in which it is run. */
export interface Torture {
  readonly name: string;
  readonly run: (limits: Limits, report: (line: string) => void) => Promise<Result>;
}

export const emptyResult = (): Result => ({
  failures: 0,
  noticed: 0,
  calls: new Map(),
  violations: [],
});

/** Counts a failure that was made. */
export function count(result: Result, { call }: Failure, outcome: Outcome): void {
  result.failures++;
  if (!outcome.served) result.noticed++;
  result.calls.set(call, (result.calls.get(call) ?? 0) + 1);
}

/** Uses before the first failure, which fill what is kept: pipes, compiled code, sessions. */
const WARM_UPS = 3;
/** What is held has this long to go back to what it was. */
const SETTLE_MS = 20_000;

/** Makes each call of a scenario fail in each way, one in each use of it. */
export async function torment(
  scenario: Scenario,
  limits: Limits,
  report: (line: string) => void,
): Promise<Result> {
  const result = emptyResult();
  let running: Torment | undefined;
  try {
    running = await Torment.start(scenario);
    const counts = running.counts;
    for (const failure of chosen(scenario, counts, limits)) {
      try {
        const outcome = await running.run(failure);
        if (outcome === undefined) continue;
        count(result, failure, outcome);
      } catch (error) {
        const text = `${scenario.name}: ${failureText(failure)}: ${String(error)}`;
        result.violations.push(text);
        report(text);
        report(running.recentLog);
        // What is left of this one must not be counted as that of the next.
        await running.dispose();
        running = await Torment.start(scenario);
      }
    }
    await running.atEnd();
  } finally {
    await running?.dispose();
  }
  return result;
}

/** The failures of a scenario whose use makes so many of each call. */
export function* chosen(
  { calls: isMeant = () => true }: Pick<Scenario, 'calls'>,
  counts: Readonly<Record<string, number>>,
  { from, to, call: onlyCall, fault: onlyFault, every, first }: Limits,
): Generator<Failure> {
  let skip = first ?? Math.floor(Math.random() * every);
  for (const [call, faults] of Object.entries(CALLS)) {
    if (!isMeant(call) || (onlyCall !== undefined && call !== onlyCall)) continue;
    for (const fault of faults) {
      if (onlyFault !== undefined && fault !== onlyFault) continue;
      for (let nth = from; nth <= Math.min(to, counts[call] ?? 0); nth++) {
        if (skip-- > 0) continue;
        skip = every - 1;
        yield { call, fault, nth };
      }
    }
  }
}

class Torment {
  readonly #stage: Stage;
  readonly #before: State;
  /** Calls of one use. */
  readonly counts: Readonly<Record<string, number>>;
  #logStart = 0;

  private constructor(stage: Stage, before: State, counts: Readonly<Record<string, number>>) {
    this.#stage = stage;
    this.#before = before;
    this.counts = counts;
  }

  static async start(scenario: Scenario): Promise<Torment> {
    const stage = await scenario.start();
    try {
      const { victim } = stage;
      const counts: Record<string, number> = {};
      for (let i = 0; i < WARM_UPS; i++) {
        await victim.arm(undefined);
        const outcome = await stage.use();
        const disarmed = await victim.disarm();
        if (!outcome.served) throw new Error(`not served without a failure: ${outcome.why}`);
        for (const [call, count] of Object.entries(disarmed.counts)) {
          counts[call] = Math.max(counts[call] ?? 0, count);
        }
      }
      return new Torment(stage, await atRest(stage), counts);
    } catch (error) {
      await stage[Symbol.asyncDispose]();
      throw error;
    }
  }

  get recentLog(): string {
    return this.#stage.victim.log.slice(this.#logStart).slice(-3000);
  }

  dispose(): Promise<void> {
    return Promise.resolve(this.#stage[Symbol.asyncDispose]());
  }

  /**
   * One use with one failure; `undefined` when the use made fewer calls than that.
   *
   * @throws {Violation}
   */
  async run(failure: Failure): Promise<Outcome | undefined> {
    const { victim, use } = this.#stage;
    this.#logStart = victim.log.length;
    await victim.arm(failure);
    const outcome = await use(failure);
    const { fired } = await victim.disarm();
    await this.#settled();
    if (!fired) {
      if (!outcome.served) throw new Violation(`not served without a failure: ${outcome.why}`);
      return undefined;
    }
    if (!outcome.served) {
      if (isTransparent(failure.call, failure.fault)) {
        throw new Violation(`the client noticed it: ${outcome.why}`);
      }
      await this.#namesCause(failure, outcome.why);
      const after = await use();
      if (!after.served) throw new Violation(`the next client was not served: ${after.why}`);
    }
    return outcome;
  }

  /** At the end everything is as before, the pipes too. */
  async atEnd(): Promise<void> {
    const { pipes } = this.#before;
    await eventually('pipes to be closed', async () => {
      const state = await this.#stage.victim.state();
      return state.pipes <= pipes;
    });
  }

  /** Waits until nothing is left of a use. */
  async #settled(): Promise<void> {
    const { victim, mayKeep = {} } = this.#stage;
    let state: State | undefined;
    const left = (): string =>
      QUANTITIES.filter((each) => (state?.[each] ?? 0) > this.#before[each] + (mayKeep[each] ?? 0))
        .map((each) => `${each} ${this.#before[each]} -> ${state?.[each]}`)
        .join(', ');
    try {
      await eventually(
        'the state to settle',
        async () => {
          if (!victim.isAlive) throw new Violation('the process has ended');
          state = await victim.state();
          return left() === '';
        },
        SETTLE_MS,
      );
    } catch (error) {
      if (!victim.isAlive) throw new Violation('the process has ended');
      const timers = (state?.timersFrom ?? []).join('\n  ');
      throw new Violation(`left behind: ${left()} (${String(error)}); timers:\n  ${timers}`);
    }
  }

  /** The reason is in the log, or in what the client was told. */
  async #namesCause({ call, fault }: Failure, told: string): Promise<void> {
    const names = namesOf(fault);
    const { victim } = this.#stage;
    // Equal lines about listeners that are held back, and about this host, come once a minute.
    const start = call === 'accept4' || call === 'epoll_ctl' ? 0 : this.#logStart;
    const { [fault]: repeated } = OWN_WORDS;
    // A failed dial is a line of level info, and equal ones are held back likewise.
    const hasLine = (name: string): boolean =>
      victim.log.split('\n').some((line) => line.includes(' INFO ') && line.includes(name));
    const found = (): boolean =>
      names.some((name) => told.includes(name) || victim.log.slice(start).includes(name)) ||
      (told.startsWith('SOCKS reply') && names.some(hasLine)) ||
      (repeated !== undefined && victim.log.includes(repeated));
    const LOG_MS = 3000;
    try {
      await eventually('the cause in the log', found, LOG_MS);
    } catch {
      throw new Violation(`neither the log nor the client names the cause; it was told: ${told}`);
    }
  }
}

/** Pipes are kept for a while: `atEnd` compares them. */
const QUANTITIES = [
  'flows',
  'sessions',
  'sockets',
  'otherDescriptors',
  'timers',
  'flowTimers',
] as const;

/** What Weir's log says of errors of this host, in place of their names. */
export const OWN_WORDS: Readonly<Partial<Record<Fault, string>>> = {
  EMFILE: 'this process has too many open files',
  ENFILE: 'this host has too many open files',
  ENOBUFS: 'the kernel has no memory',
  ENOMEM: 'the kernel has no memory',
  ECONNRESET: 'the connection was reset',
  EPERM: 'this host does not permit it',
};

/** How a log or an error names a fault: by its code, in the system's words, or in Weir's. */
export function namesOf(fault: Fault): readonly string[] {
  if (fault === 'short') return ['ENOSPC'];
  // What is made of it is a connection that was reset.
  if (fault === 'ENOTCONN') return [fault, 'ECONNRESET', 'EPIPE'];
  return [fault, getSystemErrorMap().get(-errnoOf(fault))?.[1] ?? fault];
}

/** The state once it is the same twice. */
async function atRest({ victim }: Stage): Promise<State> {
  let last = '';
  return eventually('Weir to be at rest', async () => {
    const state = await victim.state();
    const text = JSON.stringify(state);
    if (text === last) return state;
    last = text;
    return undefined;
  });
}
