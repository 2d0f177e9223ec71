import type { Clock } from '@weir/io/time';
import {
  KEPT_EVENTS,
  type FlowNotice,
  type FlowSubscription,
  type FlowEvent,
  type Tracker,
  type TrafficSampler,
  type TrafficSnapshot,
} from '@weir/proxy/tracker';
import { eventText, type SseStream } from '../../local-http/event-stream.ts';
import { Rounds } from './slices.ts';
import { type StartTimes, flowView, viewJson, trafficJson } from '../views.ts';

/** A client and the number of its next event. */
interface FlowClient {
  readonly stream: SseStream;
  next: number;
}

/** Several events in one piece; `end` is the number of the event after them. */
interface FlowPiece {
  readonly bytes: Buffer;
  readonly end: number;
}

/** Approximate maximum length of a piece, in characters. */
const PIECE_LENGTH = 64 << 10;

/**
 * Milliseconds after a round in which further events gather. The first event after a quiet period is sent immediately;
 * at a thousand events a second some ten share a write, which costs more than the text of all of them.
 */
const GATHER_MS = 10;

/** A burst of this many events is sent without gathering more: it must not outrun the kept events. */
const MANY_EVENTS = KEPT_EVENTS / 4;

/**
 * Sends the openings and closings of flows to any number of clients.
 *
 * The feed is a single reader of the tracker for all clients. It keeps the last 1024 events, and
 * one number per client. Clients at the same position share the same bytes. A client that falls
 * further behind is sent the number of events that it missed.
 */
export class FlowFeed {
  readonly #tracker: Tracker;
  readonly #times: StartTimes;
  readonly #ring: (FlowEvent | undefined)[] = Array.from({ length: KEPT_EVENTS });
  readonly #clients = new Set<FlowClient>();
  readonly #rounds: Rounds<FlowClient>;
  /** Pieces of the current round, by the number of their first event. */
  readonly #pieces = new Map<number, FlowPiece>();
  /** Number of events so far, including those that the tracker had dropped: the number of the next event. */
  #published = 0;
  /** `#published` at the end of the last round. */
  #served = 0;
  #subscription: FlowSubscription | undefined;

  constructor(tracker: Tracker, clock: Clock, times: StartTimes) {
    this.#tracker = tracker;
    this.#times = times;
    this.#rounds = new Rounds(
      clock,
      this.#clients,
      (client) => this.#pump(client),
      () => {
        this.#pieces.clear();
        this.#served = this.#published;
      },
      GATHER_MS,
    );
  }

  /** Subscribes the client to all events from now on. */
  readonly join = (stream: SseStream): void => {
    if (!this.#subscription) void this.#watch();
    else if (this.#collect(this.#subscription)) this.#request(this.#served);
    const client: FlowClient = { stream, next: this.#published };
    stream.onReady = () => {
      if (client.next < this.#published) this.#request(client.next);
    };
    stream.onClose = () => this.#leave(client);
    this.#clients.add(client);
  };

  get clients(): number {
    return this.#clients.size;
  }

  #leave(client: FlowClient): void {
    this.#clients.delete(client);
    if (this.#clients.size > 0) return;
    this.#subscription?.close();
    this.#subscription = undefined;
    this.#rounds.stop();
    this.#pieces.clear();
    this.#ring.fill(undefined);
  }

  /** Reads the tracker while there are clients. */
  async #watch(): Promise<void> {
    const subscription = this.#tracker.events.subscribe();
    this.#subscription = subscription;
    for (;;) {
      const notice = await subscription.next();
      // After `close`, another reader may have started: this one ends either way.
      if (!notice || this.#subscription !== subscription) return;
      this.#keep(notice);
      this.#collect(subscription);
      this.#request(this.#served);
    }
  }

  /** @param sent number of the first event that is still to be sent */
  #request(sent: number): void {
    this.#rounds.request(this.#published - sent >= MANY_EVENTS);
  }

  /** Takes all events from the tracker; returns whether there were any. */
  #collect(subscription: FlowSubscription): boolean {
    const before = this.#published;
    for (let notice = subscription.poll(); notice; notice = subscription.poll()) this.#keep(notice);
    return this.#published > before;
  }

  #keep(notice: FlowNotice): void {
    if (notice.kind === 'lagged') this.#published += notice.missed;
    else this.#ring[this.#published++ % KEPT_EVENTS] = notice;
  }

  /** Sends a client its next piece, if it is ready and there is one. */
  #pump(client: FlowClient): void {
    if (!client.stream.ready || client.next >= this.#published) return;
    const oldest = this.#published - KEPT_EVENTS;
    if (client.next < oldest) this.#tracker.events.missed += oldest - client.next;
    let piece = this.#pieces.get(client.next);
    if (!piece) {
      piece = this.#pieceFrom(client.next);
      this.#pieces.set(client.next, piece);
    }
    client.next = piece.end;
    client.stream.send(piece.bytes);
  }

  #pieceFrom(start: number): FlowPiece {
    const oldest = this.#published - KEPT_EVENTS;
    const offset = this.#times.read();
    let text = start < oldest ? eventText('lagged', `{"missed":${oldest - start}}`) : '';
    let end = Math.max(start, oldest);
    for (; end < this.#published && text.length < PIECE_LENGTH; end++) {
      const event = this.#ring[end % KEPT_EVENTS];
      if (event) text += eventText(event.kind, viewJson(flowView(event.flow, offset)));
    }
    return { bytes: Buffer.from(text), end };
  }
}

/** A client, and the newest snapshot that was sent to it or that precedes its connection. */
interface TrafficClient {
  readonly stream: SseStream;
  seen: TrafficSnapshot | undefined;
}

interface TrafficPiece {
  readonly snapshot: TrafficSnapshot;
  readonly bytes: Buffer;
}

/**
 * Sends each traffic sample to every client that keeps up. A slow client skips samples, and receives the newest when it
 * is ready again. Ends with the sampler.
 */
export class TrafficFeed {
  readonly #sampler: TrafficSampler;
  readonly #clients = new Set<TrafficClient>();
  readonly #rounds: Rounds<TrafficClient>;
  #latest: TrafficPiece | undefined;
  #stopWatching: AbortController | undefined;

  constructor(sampler: TrafficSampler, clock: Clock) {
    this.#sampler = sampler;
    this.#rounds = new Rounds(clock, this.#clients, (client) => this.#pump(client));
  }

  /** Subscribes the client to snapshots from the next one on. */
  readonly join = (stream: SseStream): void => {
    const client: TrafficClient = { stream, seen: this.#sampler.latest };
    stream.onReady = () => this.#pump(client);
    stream.onClose = () => this.#leave(client);
    this.#clients.add(client);
    if (!this.#stopWatching) void this.#watch();
  };

  #leave(client: TrafficClient): void {
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

  #pump(client: TrafficClient): void {
    if (!this.#latest || client.seen === this.#latest.snapshot || !client.stream.ready) return;
    client.seen = this.#latest.snapshot;
    client.stream.send(this.#latest.bytes);
  }
}
