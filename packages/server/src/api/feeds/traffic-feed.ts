import type { Clock } from '@weir/io/time';
import type { TrafficSampler, TrafficSnapshot } from '@weir/proxy/tracker';
import { eventText, type SseStream } from '../../local-http/event-stream.ts';
import { Rounds } from './slices.ts';
import { trafficJson } from '../views.ts';

/** A client, and the newest snapshot that was sent to it or that precedes its connection. */
interface Client {
  readonly stream: SseStream;
  seen: TrafficSnapshot | undefined;
}

interface Piece {
  readonly snapshot: TrafficSnapshot;
  readonly bytes: Buffer;
}

/**
 * Sends each traffic sample to every client that keeps up. A slow client skips samples, and receives the newest when it
 * is ready again. Ends with the sampler.
 */
export class TrafficFeed {
  readonly #sampler: TrafficSampler;
  readonly #clients = new Set<Client>();
  readonly #rounds: Rounds<Client>;
  #latest: Piece | undefined;
  #stopWatching: AbortController | undefined;

  constructor(sampler: TrafficSampler, clock: Clock) {
    this.#sampler = sampler;
    this.#rounds = new Rounds(clock, this.#clients, (client) => this.#pump(client));
  }

  /** Subscribes the client to snapshots from the next one on. */
  readonly join = (stream: SseStream): void => {
    const client: Client = { stream, seen: this.#sampler.latest };
    stream.onReady = () => this.#pump(client);
    stream.onClose = () => this.#leave(client);
    this.#clients.add(client);
    if (!this.#stopWatching) void this.#watch();
  };

  #leave(client: Client): void {
    this.#clients.delete(client);
    if (this.#clients.size > 0) return;
    this.#stopWatching?.abort();
    this.#stopWatching = undefined;
    this.#rounds.stop();
    this.#latest = undefined;
  }

  /** Reads the sampler while there are clients. */
  async #watch(): Promise<void> {
    const stop = new AbortController();
    this.#stopWatching = stop;
    let seen = this.#sampler.latest;
    for (;;) {
      const snapshot = await this.#sampler.newerThan(seen, stop.signal);
      if (stop.signal.aborted) return;
      if (!snapshot) break;
      seen = snapshot;
      this.#latest = { snapshot, bytes: Buffer.from(eventText('traffic', trafficJson(snapshot))) };
      this.#rounds.request();
    }
    for (const { stream } of this.#clients) stream.end();
  }

  #pump(client: Client): void {
    if (!this.#latest || client.seen === this.#latest.snapshot || !client.stream.ready) return;
    client.seen = this.#latest.snapshot;
    client.stream.send(this.#latest.bytes);
  }
}
