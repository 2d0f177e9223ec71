import { asError } from '@weir/base';
import type { Endpoint } from '@weir/io/addresses';
import { UnitCost, UnitShare } from '@weir/io/bounds';
import { ByteQueue } from '@weir/base/bytes';
import { type Clock, type Timer, UDP_IDLE_MS } from '@weir/io/time';
import { DeadlineError, LinkClosedError } from '@weir/io';
import { endInTurns, type ByteLink } from '@weir/io/links';
import { CarrierPause } from './carrier-pause.ts';
import { encodeEnd, Status, type FrameHeader } from './frame.ts';
import { MuxFrameDecoder, type MuxFrameEvent } from './frame-decoder.ts';
import { MuxPackets } from './mux-packets.ts';
import { MuxStream } from './mux-stream.ts';
import { Outlet } from './outlet.ts';

/** Concurrent flows of one carrier. Clients open eight to some hundreds. */
export const MAX_FLOWS = 1024;
/** A carrier without a flow ends after this long. */
export const IDLE_CARRIER_MS = 300_000;
const SWEEP_MS = 30_000;

/** Serves the flows of a carrier. The returned promises settle when the flow has ended. */
export interface MuxHandlers {
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
