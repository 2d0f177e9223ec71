import { WeirError } from '@weir/base';
import type { OutboundFlows } from '@weir/nodes/fetch';
import { systemClock, type Clock } from '@weir/io/time';
import {
  DEFAULT_PROBE_URL,
  DEFAULT_TOTAL_SECONDS,
  DEFAULT_TRIES,
  DEFAULT_TRY_SECONDS,
  type ProbedOutbound,
  type ProbedSpec,
  PHASE_NAMES,
  probeEach,
} from '@weir/nodes/probe';
import { Listeners } from '@weir/base/collections';
import { ActionError } from '../parameters.ts';
import { MOST_NODE_FACTS } from '../reader/node-facts.ts';
import type { NodeProbe } from './view.ts';

interface ProbeRun {
  readonly specs: readonly ProbedSpec[];
  readonly url: URL;
  readonly tries: number;
}

const NOT_MEASURED = {
  succeeded: 0,
  dial: null,
  handshake: null,
  firstByte: null,
  second: null,
  reused: false,
  error: null,
} as const;

/** Runs the probes that pages request, one run at a time, and keeps their last results. */
export class NodeProbes {
  readonly #open: () => OutboundFlows;
  readonly #now: () => number;
  readonly #clock: Clock;
  /** The last result of each outbound, by tag. */
  readonly #results = new Map<string, NodeProbe>();
  readonly #listeners = new Listeners();
  #stop: AbortController | undefined;
  #total = 0;
  #done = 0;

  /** @param open opens the flows of a run @param now returns Unix milliseconds */
  constructor(open: () => OutboundFlows, now: () => number, clock: Clock = systemClock) {
    this.#open = open;
    this.#now = now;
    this.#clock = clock;
  }

  get progress(): { readonly total: number; readonly done: number; readonly isRunning: boolean } {
    return { total: this.#total, done: this.#done, isRunning: this.#stop !== undefined };
  }

  of(tag: string): NodeProbe | undefined {
    return this.#results.get(tag);
  }

  onChange(listener: () => void): Disposable {
    return this.#listeners.add(listener);
  }

  /** Starts a run and does not wait for it. @throws {ActionError} `busy` while one is under way */
  start({ specs, url, tries }: ProbeRun): void {
    if (this.#stop) {
      throw new ActionError('busy', 'a probe is under way', {
        hint: 'wait for its end, or cancel it',
      });
    }
    const stop = new AbortController();
    this.#stop = stop;
    this.#total = specs.length;
    this.#done = 0;
    // The URL of the run without the parts that may be secret.
    const shown = `${url.protocol}//${url.host}${url.pathname}`;
    const at = this.#now();
    const base = { ...NOT_MEASURED, at, url: shown, tries };
    for (const { tag } of specs) this.#set(tag, { ...base, state: 'waiting' });
    void this.#run({ specs, url, tries }, base, stop.signal);
    this.#listeners.call();
  }

  /** Ends the run; outbounds without a result are marked as cancelled. */
  cancel(): void {
    this.#stop?.abort(new WeirError('cancelled', 'the probe was cancelled'));
  }

  async #run(
    { specs, url, tries }: ProbeRun,
    base: Omit<NodeProbe, 'state'>,
    stop: AbortSignal,
  ): Promise<void> {
    const plan = {
      url,
      tries,
      bytes: 0,
      bytesUrl: url,
      timeoutMs: DEFAULT_TRY_SECONDS * 1000,
      totalMs: DEFAULT_TOTAL_SECONDS * 1000,
    };
    try {
      await using flows = this.#open();
      await probeEach(
        specs,
        plan,
        { flows, clock: this.#clock },
        {
          stop,
          onStart: ({ tag }) => {
            if (stop.aborted) return;
            this.#set(tag, { ...base, at: this.#now(), state: 'running' });
            this.#listeners.call();
          },
          onResult: (result) => {
            this.#done++;
            const { url: shown } = base;
            const isCancelled = stop.aborted && result.succeeded === 0;
            this.#set(
              result.outbound,
              isCancelled
                ? { ...base, at: this.#now(), state: 'cancelled' }
                : { ...resultOf(result), at: this.#now(), url: shown },
            );
            this.#listeners.call();
          },
        },
      );
    } finally {
      this.#stop = undefined;
      this.#listeners.call();
    }
  }

  /** Stores a result, and evicts the oldest beyond `MOST_NODE_FACTS`. */
  #set(tag: string, probe: NodeProbe): void {
    this.#results.delete(tag);
    this.#results.set(tag, probe);
    const [oldest] = this.#results.keys();
    if (this.#results.size > MOST_NODE_FACTS && oldest !== undefined) this.#results.delete(oldest);
  }
}

function resultOf({ tries, succeeded, median }: ProbedOutbound): Omit<NodeProbe, 'at' | 'url'> {
  const failed = tries.findLast(({ ok }) => !ok);
  return {
    state: 'done',
    tries: tries.length,
    succeeded,
    dial: median.dial_ms,
    handshake: median.handshake_ms,
    firstByte: median.first_byte_ms,
    second: median.second_ms,
    reused: tries.some(({ ok, reused }) => ok && reused),
    error: failed ? `${PHASE_NAMES[failed.phase ?? 'dial']}: ${failed.error ?? ''}` : null,
  };
}

export const DEFAULT_RUN = { url: DEFAULT_PROBE_URL, tries: DEFAULT_TRIES } as const;
