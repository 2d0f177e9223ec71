import { shownEndpoint, formatEndpoint, type Endpoint } from '@weir/io/addresses';
import { asError, messageOf } from '@weir/base';
import { type Timer, Deadline, DIAL_MS, udpIdleMs } from '@weir/io/time';
import { KeptDatagrams } from '@weir/io/bounds';
import { ServerReach, DialError } from '@weir/io';
import { type Packet, type PacketLink, ClosablePackets } from '@weir/io/links';
import type { AssociateOptions, DialOptions, OutboundContext } from '../contract.ts';

/** Streams of one association; beyond this number the least recently used is closed. */
export const MAX_LINKS = 256;
/** Datagrams kept for a destination while its stream is being opened. */
const KEPT_WHILE_OPENING = 16;
/** Time for which datagrams to a destination whose stream failed are dropped before the next attempt. */
const FAILED_MS = 1_000;
/** Interval of the checks for idle streams. */
const SWEEP_MS = 5_000;

type Open = (destination: Endpoint, options: DialOptions) => Promise<PacketLink>;
type Deps = Pick<OutboundContext, 'clock' | 'log' | 'tag'>;

/** The parts of an association that all of its streams use. */
interface Shared {
  readonly deps: Deps;
  readonly open: Open;
  readonly deliver: (packet: Packet) => void;
  /** Called when the server was not reached. */
  readonly missed: (cause: Error) => void;
  /** Aborts when the association ends. */
  readonly ending: AbortSignal;
  /** Memory shared by the datagrams that wait for any stream. */
  readonly room: KeptDatagrams;
}

/**
 * Datagrams to any peer over a protocol in which each stream carries those of one destination: the
 * first datagram to a destination opens its stream. Only destinations can send responses.
 */
export class DestinationLinks extends ClosablePackets implements PacketLink {
  readonly #shared: Shared;
  readonly #links = new Map<string, DestinationLink>();
  readonly #ending = new AbortController();
  #timer: Timer | undefined;

  constructor(open: Open, deps: Deps) {
    super();
    this.#shared = {
      deps,
      open,
      deliver: (packet) => this.queue.push(packet),
      missed: (cause) => this.#missed(cause),
      ending: this.#ending.signal,
      room: new KeptDatagrams(),
    };
  }

  /**
   * Opens an association, with the stream to its first peer, if any.
   * @throws {DialError} when that stream cannot be opened.
   */
  static async open(open: Open, deps: Deps, options: AssociateOptions): Promise<DestinationLinks> {
    const { first, ...others } = options;
    const { origin } = options;
    const links = new DestinationLinks((peer, each) => open(peer, { ...each, origin }), deps);
    if (!first) return links;
    try {
      await links.#link(first).open(others);
      return links;
    } catch (error) {
      links.close();
      throw error;
    }
  }

  override get dropped(): number {
    let dropped = super.dropped;
    for (const stream of this.#links.values()) dropped += stream.dropped;
    return dropped;
  }

  send(packet: Packet): void {
    if (this.#ending.signal.aborted) {
      this.refused++;
      return;
    }
    this.#link(packet.peer).send(packet);
  }

  /** Returns the stream to a peer, created if there is none. */
  #link(peer: Endpoint): DestinationLink {
    const key = formatEndpoint(peer);
    let stream = this.#links.get(key);
    if (!stream) {
      if (this.#links.size >= MAX_LINKS) this.#closeLeastRecent();
      stream = this.#add(peer);
      this.#links.set(key, stream);
    }
    return stream;
  }

  close(cause?: Error): void {
    if (this.#ending.signal.aborted) return;
    this.#ending.abort(new DialError('aborted', 'the association has ended'));
    this.#timer?.cancel();
    this.queue.end(cause);
    for (const key of this.#links.keys()) this.#remove(key);
    this.resolveClosed(cause);
  }

  #add(peer: Endpoint): DestinationLink {
    this.#timer ??= this.#shared.deps.clock.after(SWEEP_MS, () => this.#sweep());
    return new DestinationLink(peer, this.#shared);
  }

  /**
   * Called when the server was not reached: the association ends unless one of its streams is open, so that another
   * server is tried.
   */
  #missed(cause: Error): void {
    for (const stream of this.#links.values()) if (stream.isOpen) return;
    this.close(cause);
  }

  /** Closes idle streams, with one timer for all instead of one for each. */
  #sweep(): void {
    try {
      for (const [key, stream] of this.#links) if (stream.spent) this.#remove(key);
    } finally {
      this.#timer =
        this.#links.size === 0
          ? undefined
          : this.#shared.deps.clock.after(SWEEP_MS, () => this.#sweep());
    }
  }

  #closeLeastRecent(): void {
    let oldest: [key: string, lastSeen: number] | undefined;
    for (const [key, { lastSeen }] of this.#links) {
      if (!oldest || lastSeen < oldest[1]) oldest = [key, lastSeen];
    }
    if (oldest) this.#remove(oldest[0]);
  }

  #remove(key: string): void {
    const stream = this.#links.get(key);
    if (!stream) return;
    this.#links.delete(key);
    stream.close();
    this.refused += stream.dropped;
  }
}

/** The stream of one destination: opened by the first datagram, and again by the first one after its end. */
class DestinationLink {
  readonly #peer: Endpoint;
  readonly #shared: Shared;
  #state: 'idle' | 'opening' | 'open' | 'failed' | 'closed' = 'idle';
  #waiting: Packet[] = [];
  #packets: PacketLink | undefined;
  #lastSeen: number;
  #lost = 0;

  constructor(peer: Endpoint, shared: Shared) {
    this.#peer = peer;
    this.#shared = shared;
    this.#lastSeen = shared.deps.clock.now();
  }

  get dropped(): number {
    return this.#lost + (this.#packets?.dropped ?? 0);
  }

  get lastSeen(): number {
    return this.#lastSeen;
  }

  get isOpen(): boolean {
    return this.#state === 'open';
  }

  /** Whether the stream was idle for the UDP idle timeout of its port. */
  get spent(): boolean {
    return this.#shared.deps.clock.now() - this.#lastSeen >= udpIdleMs(this.#peer.port);
  }

  /** Opens the stream before its first datagram. @throws {DialError} */
  async open(options: DialOptions): Promise<void> {
    this.#state = 'opening';
    const packets = await this.#openWith(options);
    if (packets) void this.#receive(packets);
  }

  send(packet: Packet): void {
    const now = this.#shared.deps.clock.now();
    if (this.#state === 'failed' && now - this.#lastSeen >= FAILED_MS) this.#state = 'idle';
    // Datagrams that are dropped after a failure do not delay the next attempt.
    if (this.#state !== 'failed') this.#lastSeen = now;
    switch (this.#state) {
      case 'idle':
        if (!this.#keep(packet)) break;
        this.#state = 'opening';
        void this.#run();
        break;
      case 'opening':
        this.#keep(packet);
        break;
      case 'open':
        this.#packets?.send(packet);
        break;
      case 'failed':
      case 'closed':
        this.#lost++;
        break;
      default:
        this.#state satisfies never;
    }
  }

  close(): void {
    this.#state = 'closed';
    this.#lost += this.#takeWaiting().length;
    this.#packets?.close();
  }

  /**
   * Keeps a packet until the stream is open.
   * @returns false when there is no room for the packet, which is then lost.
   */
  #keep(packet: Packet): boolean {
    const isFull = this.#waiting.length >= KEPT_WHILE_OPENING;
    const kept = isFull ? undefined : this.#shared.room.keep(packet);
    if (kept) this.#waiting.push(kept);
    else this.#lost++;
    return kept !== undefined;
  }

  #takeWaiting(): readonly Packet[] {
    const waiting = this.#waiting;
    this.#waiting = [];
    this.#shared.room.release(waiting);
    return waiting;
  }

  async #run(): Promise<void> {
    const reach = new ServerReach();
    let packets: PacketLink | undefined;
    try {
      using deadline = new Deadline(
        this.#shared.deps.clock,
        DIAL_MS,
        'the dial',
        this.#shared.ending,
      );
      packets = await this.#openWith({ signal: deadline.signal, reach });
    } catch (error) {
      this.#failed(error);
      this.#end(false);
      if (reach.isMissed) this.#shared.missed(asError(error));
    }
    if (packets) await this.#receive(packets);
  }

  async #receive(packets: PacketLink): Promise<void> {
    let responded = false;
    try {
      await packets.receiveAll((packet) => {
        responded = true;
        this.#lastSeen = this.#shared.deps.clock.now();
        this.#shared.deliver(packet);
      });
    } catch (error) {
      this.#failed(error);
    }
    this.#end(responded);
  }

  #failed(error: unknown): void {
    const { log, tag } = this.#shared.deps;
    log.debug(`udp by ${tag} to ${shownEndpoint(this.#peer)}: ${messageOf(error)}`);
  }

  /** Opens the stream; `undefined` when it was closed meanwhile. */
  async #openWith(options: DialOptions): Promise<PacketLink | undefined> {
    const packets = await this.#shared.open(this.#peer, options);
    if (this.#state !== 'opening') {
      packets.close();
      return undefined;
    }
    this.#packets = packets;
    this.#state = 'open';
    for (const packet of this.#takeWaiting()) packets.send(packet);
    return packets;
  }

  /**
   * Ends the stream. One that ended without a response counts as failed: the next one would most likely end in the same
   * way.
   */
  #end(responded: boolean): void {
    if (this.#state === 'closed') return;
    this.#lost += this.#takeWaiting().length + (this.#packets?.dropped ?? 0);
    this.#packets = undefined;
    this.#lastSeen = this.#shared.deps.clock.now();
    this.#state = responded ? 'idle' : 'failed';
  }
}
