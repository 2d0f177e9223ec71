import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import type { Tracker } from '@weir/proxy/tracker';
import { refusedLine } from './messages.ts';
import { isUsageRequest, usageLines, type UsageRequest } from './usage-messages.ts';

/** Maximum number of clients that get one report after the other. */
const MAX_FOLLOWERS = 16;

/** Milliseconds for a client to read what was written to it. */
const READ_MS = 5_000;

/** Milliseconds for followers to read the last report. */
const LAST_MS = 2_000;

/**
 * Reports the usage of one running proxy to clients of the control socket. Those that follow it also get a report once
 * all flows have ended.
 */
export class UsageReporter {
  readonly #tracker: Pick<Tracker, 'usage'>;
  readonly #instance = randomUUID();
  /** Followers, with what ends their wait for the next report. */
  readonly #followers = new Map<Socket, AbortController>();
  #ending: Promise<void> | undefined;
  #left: (() => void) | undefined;

  constructor(tracker: Pick<Tracker, 'usage'>) {
    this.#tracker = tracker;
  }

  /** Whether a client gets reports until the end. */
  isFollower(client: Socket): boolean {
    return this.#followers.has(client);
  }

  /** Writes reports; a client that does not read them is disconnected. */
  async serve(request: unknown, client: Socket, gone: AbortSignal): Promise<void> {
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
    client.setTimeout(READ_MS, () => client.destroy()).end();
  }

  /** Sends followers a last report; resolves when they have it, or after a time limit. */
  async end(): Promise<void> {
    if (this.#followers.size === 0) return;
    this.#ending ??= new Promise((resolve) => (this.#left = resolve));
    for (const wait of this.#followers.values()) wait.abort();
    const limit = new AbortController();
    const { signal } = limit;
    await Promise.race([
      this.#ending,
      sleep(LAST_MS, undefined, { signal }).catch(() => undefined),
    ]);
    limit.abort();
  }

  #refuse(client: Socket, reason: string): void {
    client.setTimeout(READ_MS, () => client.destroy()).end(refusedLine(reason));
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
      for (;;) {
        const isLast = this.#ending !== undefined;
        const since = await this.#report({ ...request, ...position }, client, gone);
        if (isLast) {
          // The process may exit once the report has left it.
          await once(client.end(), 'finish', { signal: gone });
          return;
        }
        position = { instance: this.#instance, since };
        await sleep(everyMs, undefined, { signal }).catch(() => undefined);
        gone.throwIfAborted();
      }
    } finally {
      gone.removeEventListener('abort', leave);
      this.#followers.delete(client);
      if (this.#followers.size === 0) this.#left?.();
    }
  }

  /** Writes a report, a line in each turn of the event loop, and returns its sequence. */
  async #report(
    { instance, since, by }: UsageRequest,
    client: Socket,
    gone: AbortSignal,
  ): Promise<number> {
    const known = instance === this.#instance ? since : undefined;
    const report = { instance: this.#instance, ...this.#tracker.usage(known) };
    client.setTimeout(READ_MS, () => client.destroy());
    for (const line of usageLines(report, by)) {
      if (!client.write(line)) await once(client, 'drain', { signal: gone });
      await nextTurn(undefined, { signal: gone });
    }
    client.setTimeout(0);
    return report.sequence;
  }
}
