import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { type Clock, Turns, unlessAborted } from '@weir/io/time';
import type { Tracker } from '@weir/proxy/tracker';
import { refusedLine } from './messages.ts';
import { isUsageRequest, usageLines, type UsageRequest } from './usage-messages.ts';

/** Maximum number of clients that get one report after the other. */
const MAX_FOLLOWERS = 16;

/** Milliseconds for a client to read what was written to it. */
const READ_MS = 5_000;

/**
 * Characters that are written at once. What the kernel has taken of a report is not lost when the process is killed: most reports
 * are written in the turn in which they are made.
 */
const PART_LENGTH = 64 << 10;

/** Milliseconds for followers to read the last report. */
const LAST_MS = 2_000;

/**
 * Reports the usage of one running proxy to clients of the control socket. Those that follow it also get a report once
 * all flows have ended.
 */
export class UsageReporter {
  readonly #tracker: Pick<Tracker, 'usage'>;
  readonly #clock: Clock;
  readonly #instance = randomUUID();
  /** Followers, with what ends their wait for the next report. */
  readonly #followers = new Map<Socket, AbortController>();
  #ending: Promise<void> | undefined;
  #left: (() => void) | undefined;

  constructor(tracker: Pick<Tracker, 'usage'>, clock: Clock) {
    this.#tracker = tracker;
    this.#clock = clock;
  }

  /** Whether a client gets reports until the end. */
  isFollower(client: Socket): boolean {
    return this.#followers.has(client);
  }

  /** Writes reports; a client that does not read them is disconnected. */
  async serve(request: unknown, client: Socket, gone: AbortSignal): Promise<void> {
    client.on('timeout', () => client.destroy());
    if (!isUsageRequest(request)) {
      this.#refuse(client, 'expected {"instance":TEXT,"since":NUMBER,"by":[TEXT],"every":NUMBER}');
      return;
    }
    if (request.every !== undefined && this.#followers.size >= MAX_FOLLOWERS) {
      this.#refuse(client, `${MAX_FOLLOWERS} clients follow the usage already`);
      return;
    }
    try {
      if (request.every === undefined) await this.#report(request, client, gone);
      else await this.#follow(request, request.every, client, gone);
    } catch (error) {
      if (!gone.aborted) throw error;
    }
    client.setTimeout(READ_MS).end();
  }

  /** Sends followers a last report; resolves when they have it, or after a time limit. */
  async end(): Promise<void> {
    if (this.#followers.size === 0) return;
    this.#ending ??= new Promise((resolve) => (this.#left = resolve));
    for (const wait of this.#followers.values()) wait.abort();
    const timer = this.#clock.after(LAST_MS, () => this.#left?.());
    await this.#ending;
    timer.cancel();
  }

  #refuse(client: Socket, reason: string): void {
    client.setTimeout(READ_MS).end(refusedLine(reason));
  }

  async #follow(
    request: UsageRequest,
    everyMs: number,
    client: Socket,
    gone: AbortSignal,
  ): Promise<void> {
    let position: Pick<UsageRequest, 'instance' | 'since'> = request;
    const wait = new AbortController();
    const { signal } = wait;
    const leave = (): void => wait.abort();
    gone.addEventListener('abort', leave);
    this.#followers.set(client, wait);
    try {
      for (let due = this.#clock.now(); ;) {
        const isLast = this.#ending !== undefined;
        const since = await this.#report({ ...request, ...position }, client, gone);
        if (isLast) {
          // The process may exit once the report has left it.
          await once(client.end(), 'finish', { signal: gone });
          return;
        }
        position = { instance: this.#instance, since };
        // Not from the end of a report or a late timer on, both of which take longer beside other work.
        const now = this.#clock.now();
        due = (now - due < everyMs ? due : now) + everyMs;
        await this.#until(due, signal);
        gone.throwIfAborted();
      }
    } finally {
      gone.removeEventListener('abort', leave);
      this.#followers.delete(client);
      if (this.#followers.size === 0) this.#left?.();
    }
  }

  /** Waits for a time; ends early when `signal` aborts. */
  async #until(time: number, signal: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = this.#clock.after(time - this.#clock.now(), resolve);
    await unlessAborted(promise, signal).catch(() => undefined);
    timer.cancel();
  }

  /** Writes a report in turns of the event loop, and returns its sequence. */
  async #report(
    { instance, since, by }: UsageRequest,
    client: Socket,
    gone: AbortSignal,
  ): Promise<number> {
    const known = instance === this.#instance ? since : undefined;
    const turns = new Turns(this.#clock);
    const report = { instance: this.#instance, ...this.#tracker.usage(known) };
    client.setTimeout(READ_MS);
    let part = '';
    for (const line of usageLines(report, by)) {
      part += line;
      if (part.length < PART_LENGTH) continue;
      if (!client.write(part)) await once(client, 'drain', { signal: gone });
      part = '';
      if (turns.due) await turns.next();
      gone.throwIfAborted();
    }
    if (!client.write(part)) await once(client, 'drain', { signal: gone });
    client.setTimeout(0);
    return report.sequence;
  }
}
