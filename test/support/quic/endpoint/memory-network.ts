import {
  type DatagramFeatures,
  type DatagramHandlers,
  type DatagramSocket,
  type DatagramSocketOptions,
  type SendResult,
  type Transmit,
  addressText,
  copyEndpoint,
  isWildcard,
  toEndpoint,
  type IpEndpoint,
} from '@weir/base/ip';
import type { ManualClock } from '../../manual-clock.ts';

/** An address that a test wrote down. */
export function numeric(host: string, port: number): IpEndpoint {
  const endpoint = toEndpoint(host, port);
  if (!endpoint) throw new Error(`${host} is no address`);
  return endpoint;
}

const FEATURES: DatagramFeatures = {
  segmentation: true,
  coalescing: true,
  ownAddress: true,
  ecn: false,
  dontFragment: true,
  overflow: false,
};

/** What a test decides about a datagram: how many milliseconds it takes, or that it is lost. */
export type Fate = (bytes: Uint8Array, from: IpEndpoint, to: IpEndpoint) => number | 'lost';

const keyOf = (endpoint: IpEndpoint): string => `${addressText(endpoint)} ${endpoint.port}`;

/** Sockets that reach each other in memory and virtual time, and the turns of an event loop. */
export class MemoryNetwork {
  readonly clock: ManualClock;
  /** The address of sockets that are bound to a wildcard. */
  readonly #host: string;
  /** Milliseconds of every datagram, unless a test says otherwise. */
  fate: Fate = () => 1;
  /** Bytes of UDP payload that paths take; longer datagrams are refused at once, like EMSGSIZE. */
  mtu = 1500;
  readonly #sockets = new Map<string, MemorySocket>();
  readonly #turns: (() => void)[] = [];
  #nextPort = 40_000;

  constructor(clock: ManualClock, host = '127.0.0.1') {
    this.clock = clock;
    this.#host = host;
  }

  /** For `EndpointOptions.soon`. */
  readonly soon = (task: () => void): void => {
    this.#turns.push(task);
  };

  readonly bind = (
    { local }: DatagramSocketOptions,
    handlers: DatagramHandlers,
  ): Promise<MemorySocket> => {
    const bound = { ...local, port: local.port === 0 ? this.#nextPort++ : local.port };
    const at = isWildcard(bound) ? numeric(this.#host, bound.port) : bound;
    const socket = new MemorySocket(this, at, handlers);
    if (this.#sockets.has(keyOf(at))) return Promise.reject(new Error('EADDRINUSE'));
    this.#sockets.set(keyOf(at), socket);
    return Promise.resolve(socket);
  };

  get sockets(): number {
    return this.#sockets.size;
  }

  unbind(socket: MemorySocket): void {
    this.#sockets.delete(keyOf(socket.local));
  }

  /** Sends a datagram on its way. */
  transfer(bytes: Uint8Array, from: IpEndpoint, to: IpEndpoint): void {
    const fate = this.fate(bytes, from, to);
    if (fate === 'lost') return;
    const copy = Buffer.from(bytes);
    const [source, destination] = [copyEndpoint(from), copyEndpoint(to)];
    this.clock.after(fate, () => this.#sockets.get(keyOf(destination))?.deliver(copy, source));
  }

  /** Lets time pass, millisecond by millisecond, and everything happen that happens meanwhile. */
  async pass(milliseconds: number): Promise<void> {
    await this.settle();
    for (let i = 0; i < milliseconds; i++) {
      this.clock.advance(1);
      await this.settle();
    }
  }

  /** Lets time pass until something holds. */
  async until(holds: () => boolean, limit = 60_000): Promise<void> {
    await this.settle();
    for (let i = 0; !holds(); i++) {
      if (i === limit) throw new Error(`it did not happen within ${limit} ms`);
      await this.pass(1);
    }
  }

  /** Runs the turns that are due, and the code that waits for promises. */
  async settle(): Promise<void> {
    while (await this.turn());
  }

  /** Runs one turn. Returns whether anything was due. */
  async turn(): Promise<boolean> {
    // More than any chain of promises here takes.
    for (let i = 0; i < 8; i++) await Promise.resolve();
    const due = this.#turns.splice(0);
    for (const task of due) task();
    return due.length > 0;
  }
}

/** A socket of a `MemoryNetwork`. */
export class MemorySocket implements DatagramSocket {
  readonly local: IpEndpoint;
  readonly features = FEATURES;
  readonly closed: Promise<Error | undefined>;
  readonly dropped = 0;
  readonly overflowed = 0;
  /** Calls of `send`, and the datagrams that left. */
  calls = 0;
  sent = 0;
  /** Datagrams that the socket still takes. */
  room = Infinity;
  readonly #network: MemoryNetwork;
  readonly #handlers: DatagramHandlers;
  readonly #resolveClosed: (cause: Error | undefined) => void;
  #isClosed = false;
  #isDrainDue = false;

  constructor(network: MemoryNetwork, local: IpEndpoint, handlers: DatagramHandlers) {
    this.#network = network;
    this.local = local;
    this.#handlers = handlers;
    const { promise, resolve } = Promise.withResolvers<Error | undefined>();
    this.closed = promise;
    this.#resolveClosed = resolve;
  }

  send(transmits: readonly Transmit[], count = transmits.length, sentBytes = 0): SendResult {
    this.calls++;
    let skip = sentBytes;
    let tooLarge = 0;
    let firstTooLarge = -1;
    for (let done = 0; done < count; done++) {
      const { buffer, offset, length, segmentSize, destination } = transmits[done] as Transmit;
      const size = segmentSize > 0 ? segmentSize : Math.max(length, 1);
      for (let at = skip; at < length; at += size) {
        if (this.room === 0) {
          return { done, sentBytes: at, full: true, tooLarge, firstTooLarge };
        }
        this.room--;
        const end = Math.min(length, at + size);
        if (end - at > this.#network.mtu) {
          if (tooLarge++ === 0) firstTooLarge = done;
          continue;
        }
        this.sent++;
        const datagram = buffer.subarray(offset + at, offset + end);
        if (!this.#isClosed) this.#network.transfer(datagram, this.local, destination);
      }
      skip = 0;
    }
    return { done: count, sentBytes: 0, full: false, tooLarge, firstTooLarge };
  }

  /** There is room again. */
  makeRoom(datagrams: number): void {
    this.room = datagrams;
    this.#handlers.onWritable?.();
  }

  /**
   * Delivers a datagram now, or several one behind the other; `onDrained` follows at the end of the
   * turn.
   */
  deliver(bytes: Uint8Array, from: IpEndpoint, stride = Math.max(1, bytes.length)): void {
    if (this.#isClosed) return;
    const buffer = Buffer.from(bytes);
    const peer = copyEndpoint(from);
    this.#handlers.onDatagrams({
      peer,
      buffer,
      offset: 0,
      length: bytes.length,
      stride,
      own: this.local,
      ecn: 0,
    });
    // As a socket of the kernel does with the next datagram: what refers to it still is a defect.
    buffer.fill(0xdd);
    Object.assign(peer, numeric('255.255.255.255', 1));
    if (this.#isDrainDue) return;
    this.#isDrainDue = true;
    this.#network.soon(() => {
      this.#isDrainDue = false;
      if (!this.#isClosed) this.#handlers.onDrained?.();
    });
  }

  close(cause?: Error): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#network.unbind(this);
    this.#resolveClosed(cause);
  }
}
