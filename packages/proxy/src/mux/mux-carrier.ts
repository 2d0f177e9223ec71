import { type Clock, type Timer, UDP_IDLE_MS } from '@weir/io/time';
import { DeadlineError, LinkClosedError } from '@weir/io';
import { asError } from '@weir/base';
import type { Endpoint } from '@weir/io/addresses';
import { UnitCost, UnitShare } from '@weir/io/bounds';
import { ByteQueue } from '@weir/base/bytes';
import { type ByteLink, endInTurns } from '@weir/io/links';
import { MuxStream } from './mux-stream.ts';
import {
  encodeEnd,
  type FrameHeader,
  MuxFrameDecoder,
  type MuxFrameEvent,
  Status,
} from './frame.ts';
import { MuxPackets } from './mux-packets.ts';
import { Outlet } from './outlet.ts';

/** Unread data of one flow, in bytes of memory, beyond which the carrier is not read. */
export const STREAM_BYTES = 512 * 1024;
/** Unread data of all flows of a carrier together, beyond which it is not read. */
const CARRIER_BYTES = 4 * 1024 * 1024;
/** Longest time in milliseconds for which a flow may pause its carrier. */
export const HOLD_MS = 30_000;

/** A pause of reading the carrier. */
interface Hold {
  /** The stream with too much unread data; `undefined` when it is the sum of all streams. */
  readonly stream: MuxStream | undefined;
  readonly over: PromiseWithResolvers<void>;
  /** Bytes read from streams since the pause began. */
  taken: number;
  timer: Timer | undefined;
}

/**
 * Pauses the reading of a carrier while its streams have too much unread data.
 *
 * Mux.Cool has no flow control, so the only way to slow down a stream is not to read the carrier,
 * which stops all streams. A pause lasts HOLD_MS at most: then a stream of which less than half was
 * read is ended, and the others continue. A stream that is alone on its carrier may be as slow as on
 * a connection of its own, but not stalled.
 */
class CarrierPause {
  readonly #clock: Clock;
  readonly #streams: () => readonly MuxStream[];
  #bytes = 0;
  #hold: Hold | undefined;

  /** @param streams returns all streams of the carrier; called when one of them has to be ended. */
  constructor(clock: Clock, streams: () => readonly MuxStream[]) {
    this.#clock = clock;
    this.#streams = streams;
  }

  /** Adds to the unread data, in bytes of memory; negative when data was read. */
  change(bytes: number): void {
    this.#bytes += bytes;
    if (!this.#hold) return;
    if (bytes < 0) this.#hold.taken -= bytes;
    if (this.#hasRoom(this.#hold)) this.release();
  }

  /** Returns a promise that is pending while the carrier must not be read; `undefined` when it may be read at once. */
  room(stream: MuxStream): Promise<void> | undefined {
    const tooMuch = stream.queuedBytes > STREAM_BYTES;
    if (!tooMuch && this.#bytes <= CARRIER_BYTES) return undefined;
    const hold: Hold = {
      stream: tooMuch ? stream : undefined,
      over: Promise.withResolvers<void>(),
      taken: 0,
      timer: undefined,
    };
    this.#hold = hold;
    this.#limit(hold);
    return hold.over.promise;
  }

  /** Ends a pause, also when the carrier has ended. */
  release(): void {
    const hold = this.#hold;
    this.#hold = undefined;
    hold?.timer?.cancel();
    hold?.over.resolve();
  }

  #hasRoom({ stream }: Hold): boolean {
    return stream
      ? stream.queuedBytes <= STREAM_BYTES / 2
      : this.#bytes <= CARRIER_BYTES - STREAM_BYTES;
  }

  #limit(hold: Hold): void {
    hold.timer = this.#clock.after(HOLD_MS, () => {
      const streams = this.#streams();
      const patient = hold.stream && streams.length === 1 && hold.taken > 0;
      hold.taken = 0;
      if (!patient) {
        const slowest = hold.stream ?? largest(streams);
        slowest?.destroy(new DeadlineError('the flow held up its mux carrier for 30 s'));
      }
      if (this.#hold === hold) this.#limit(hold);
    });
  }
}

const largest = (streams: readonly MuxStream[]): MuxStream | undefined =>
  streams.reduce<MuxStream | undefined>(
    (most, stream) => (most && most.queuedBytes >= stream.queuedBytes ? most : stream),
    undefined,
  );

/** Concurrent flows of one carrier. Clients open eight to some hundreds. */
export const MAX_FLOWS = 1024;
/** A carrier without a flow ends after this long. */
export const IDLE_CARRIER_MS = 300_000;
const SWEEP_MS = 30_000;

/** Serves the flows of a carrier. The returned promises settle when the flow has ended. */
interface MuxHandlers {
  stream(link: ByteLink, destination: Endpoint): Promise<void>;
  packets(link: MuxPackets): Promise<void>;
  /** Whether the client may open another flow. */
  mayOpen(): boolean;
  /** Whether the carrier may stay open without a flow; once it may not, it ends with the last one. */
  mayWait(): boolean;
  /** The owner of the flows for `UnitShare`; the carrier by default. */
  readonly holder?: unknown;
}

/** The flow of the data being read. */
type Receiver =
  | { readonly kind: 'stream'; readonly stream: MuxStream }
  | { readonly kind: 'packets'; readonly packets: MuxPackets; readonly peer: Endpoint | undefined }
  | { readonly kind: 'none' };

const NO_RECEIVER: Receiver = { kind: 'none' };
const NO_BYTES = new Uint8Array(0);

/** The server's side of one Mux.Cool connection: many flows on one link. */
export class MuxCarrier {
  readonly #link: ByteLink;
  readonly #handlers: MuxHandlers;
  readonly #clock: Clock;
  readonly #outlet: Outlet;
  readonly #units: UnitShare;
  readonly #pause: CarrierPause;
  readonly #flows = new Map<number, MuxStream | MuxPackets>();
  readonly #serving = new Set<Promise<void>>();
  /** The data of a datagram so far. */
  readonly #datagram = new ByteQueue();
  #receiver: Receiver = NO_RECEIVER;
  #timer: Timer | undefined;
  #lastHeader: number;
  #wasUsed = false;
  /** This side has ended: frames that still arrive are dropped. */
  #finished = false;

  constructor(link: ByteLink, handlers: MuxHandlers, clock: Clock) {
    this.#link = link;
    this.#handlers = handlers;
    this.#clock = clock;
    this.#lastHeader = clock.now();
    this.#units = new UnitShare(handlers.holder);
    this.#outlet = new Outlet(link, (error) => link.destroy(error));
    this.#pause = new CarrierPause(clock, () => this.#streams());
  }

  /**
   * Serves the carrier until it ends, and ends all flows with it.
   * @throws {ProtocolError} when the client violates Mux.Cool; or the failure of the link.
   */
  async run(): Promise<void> {
    const decoder = new MuxFrameDecoder();
    let failure: Error | undefined;
    this.#watch();
    // The loop below may be waiting for something other than the link.
    void this.#link.closed.then((cause) => {
      this.#outlet.end(cause ?? new LinkClosedError());
      this.#pause.release();
    });
    try {
      for (;;) {
        const chunk = await this.#link.read();
        if (chunk === undefined || this.#finished) break;
        for (const event of decoder.decode(chunk)) {
          const turn = this.#units.take(this.#costOf(event));
          if (turn) await turn;
          const full = this.#take(event) ?? this.#outlet.room();
          if (full) await full;
        }
      }
    } catch (error) {
      // The end of a finished carrier is clean, whatever happens to the link below.
      if (this.#finished) return;
      failure = asError(error);
      throw failure;
    } finally {
      this.#end(failure);
      await Promise.allSettled(this.#serving);
    }
  }

  /** Whether no flow is served, and no End is queued. */
  get #isUnused(): boolean {
    return this.#serving.size === 0 && this.#flows.size === 0;
  }

  /**
   * Ends a carrier that has no flow and may not wait for one. A carrier before its first flow stays open as long as
   * that flow may be opened.
   */
  endIfUnused(): void {
    if (this.#isOver) void this.#finish();
  }

  get #isOver(): boolean {
    const handlers = this.#handlers;
    return this.#isUnused && !handlers.mayWait() && (this.#wasUsed || !handlers.mayOpen());
  }

  /** Ends the carrier once everything queued was sent, unless another flow may be opened by then. */
  async #finish(): Promise<void> {
    await this.#outlet.emptied();
    if (this.#finished || !this.#isOver) return;
    this.#finished = true;
    try {
      await this.#link.closeWrite();
    } catch {
      // The carrier has failed, which the loop that reads it reports.
    }
    this.#link.destroy();
  }

  #end(failure: Error | undefined): void {
    this.#timer?.cancel();
    const cause = failure ?? new LinkClosedError('the carrier of the flow has ended');
    void endInTurns([...this.#flows.values()], (flow) => flow.abandon(cause));
    this.#outlet.end(cause);
    this.#link.destroy(failure);
  }

  /** Handles an event; returns a promise to wait for before the next, if any. */
  #take(event: MuxFrameEvent): Promise<void> | undefined {
    if (event.kind === 'data') return this.#takeData(event.bytes, event.last);
    this.#lastHeader = this.#clock.now();
    this.#receiver = this.#takeHeader(event.header);
    // Empty data is a datagram, too.
    return event.header.hasData && event.length === 0 ? this.#takeData(NO_BYTES, true) : undefined;
  }

  #costOf(event: MuxFrameEvent): number {
    if (event.kind === 'data') {
      return event.last && this.#receiver.kind === 'packets' ? UnitCost.datagram : UnitCost.frame;
    }
    // A refused flow counts as well: its client may try again.
    if (event.header.status === Status.create) return UnitCost.flow;
    return event.header.hasData && event.length === 0 ? UnitCost.datagram : UnitCost.frame;
  }

  #takeData(bytes: Uint8Array, last: boolean): Promise<void> | undefined {
    const receiver = this.#receiver;
    switch (receiver.kind) {
      case 'stream':
        if (bytes.length > 0) receiver.stream.deliver(bytes);
        return this.#pause.room(receiver.stream);
      case 'packets': {
        this.#datagram.push(bytes);
        const data = last ? this.#datagram.take(this.#datagram.length) : undefined;
        if (data) receiver.packets.deliver(data, receiver.peer);
        return undefined;
      }
      case 'none':
        return undefined;
      default:
        return receiver satisfies never;
    }
  }

  /** Handles a header and returns the receiver of its data. */
  #takeHeader(header: FrameHeader): Receiver {
    const flow = this.#flows.get(header.id);
    switch (header.status) {
      case Status.create:
        return this.#create(header, flow);
      case Status.keep:
        if (flow instanceof MuxStream) return { kind: 'stream', stream: flow };
        if (flow) return { kind: 'packets', packets: flow, peer: header.peer };
        // The client may not have received the End of the flow yet.
        if (header.hasData) this.#outlet.sendControl(encodeEnd(header.id, false));
        return NO_RECEIVER;
      case Status.end:
        if (flow instanceof MuxStream) flow.end(header.failed);
        else flow?.abandon();
        return NO_RECEIVER;
      case Status.keepAlive:
        return NO_RECEIVER;
      default:
        return header satisfies never;
    }
  }

  #create(
    header: FrameHeader & { readonly status: typeof Status.create },
    previous: MuxStream | MuxPackets | undefined,
  ): Receiver {
    previous?.abandon(new LinkClosedError('the client opened another flow by that id'));
    const { id, network, destination, addressed } = header;
    // Counted until they are served, not until they are closed: a client must not make room by
    // ending flows that are still being dialled. Those whose End waits to be sent count, too.
    const flows = Math.max(this.#serving.size, this.#flows.size);
    if (!destination || flows >= MAX_FLOWS || !this.#handlers.mayOpen()) {
      this.#outlet.sendControl(encodeEnd(id, true));
      this.endIfUnused();
      return NO_RECEIVER;
    }
    this.#wasUsed = true;
    if (network === 'tcp') {
      const stream: MuxStream = new MuxStream(id, this.#outlet, this.#clock, {
        onQueued: (bytes) => this.#pause.change(bytes),
        onClosed: () => this.#remove(id, stream),
      });
      this.#flows.set(id, stream);
      this.#serve(this.#handlers.stream(stream, destination), stream);
      return { kind: 'stream', stream };
    }
    const packets: MuxPackets = new MuxPackets({
      id,
      destination,
      addressed,
      outlet: this.#outlet,
      now: () => this.#clock.now(),
      onClosed: () => this.#remove(id, packets),
    });
    this.#flows.set(id, packets);
    this.#serve(this.#handlers.packets(packets), packets);
    return { kind: 'packets', packets, peer: undefined };
  }

  #remove(id: number, flow: MuxStream | MuxPackets): void {
    if (this.#flows.get(id) === flow) this.#flows.delete(id);
    if (this.#flows.size > 0) return;
    this.#lastHeader = this.#clock.now();
    this.endIfUnused();
  }

  #serve(flow: Promise<void>, link: MuxStream | MuxPackets): void {
    const served = flow.catch((error: unknown) => {
      const cause = asError(error);
      if (link instanceof MuxStream) link.destroy(cause);
      else link.close(cause);
    });
    this.#serving.add(served);
    void served.then(() => {
      this.#serving.delete(served);
      this.endIfUnused();
    });
  }

  #streams(): readonly MuxStream[] {
    return [...this.#flows.values()].filter((flow) => flow instanceof MuxStream);
  }

  /** Ends idle flows and an idle carrier, with one timer for all. */
  #watch(): void {
    this.#timer = this.#clock.after(SWEEP_MS, () => {
      this.#watch();
      const now = this.#clock.now();
      const idle = new DeadlineError('the flow was idle for 300 s');
      for (const flow of this.#flows.values()) {
        if (flow instanceof MuxPackets && now - flow.lastSeen >= UDP_IDLE_MS) flow.close(idle);
      }
      if (this.#flows.size > 0 || now - this.#lastHeader < IDLE_CARRIER_MS) return;
      this.#timer?.cancel();
      this.#link.destroy(new DeadlineError('the mux carrier was idle for 300 s'));
    });
  }
}
