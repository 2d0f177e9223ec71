import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Tracker } from '@weir/proxy/tracker';
import { REQUEST_MS } from './control-handlers.ts';
import { isUsageRequest, usageLines } from './usage-messages.ts';
import { refusedLine } from './messages.ts';

/** Reports the usage of one running proxy to clients of the control socket. */
export class UsageReporter {
  readonly #tracker: Pick<Tracker, 'usage'>;
  readonly #instance = randomUUID();

  constructor(tracker: Pick<Tracker, 'usage'>) {
    this.#tracker = tracker;
  }

  /** Writes a response, a line in each turn of the event loop; a client that does not read it is disconnected. */
  async serve(request: unknown, client: Socket, gone: AbortSignal): Promise<void> {
    client.setTimeout(REQUEST_MS, () => client.destroy());
    if (!isUsageRequest(request)) {
      client.end(refusedLine('expected {"instance":TEXT,"since":NUMBER,"by":[TEXT]}'));
      return;
    }
    const instance = this.#instance;
    const since = request.instance === instance ? request.since : undefined;
    const report = { instance, ...this.#tracker.usage(since) };
    try {
      for (const line of usageLines(report, request.by)) {
        if (!client.write(line)) await once(client, 'drain', { signal: gone });
        await nextTurn(undefined, { signal: gone });
      }
    } catch (error) {
      if (!gone.aborted) throw error;
    }
    client.end();
  }
}
