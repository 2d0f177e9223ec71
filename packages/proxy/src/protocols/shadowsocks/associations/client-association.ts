import type { Endpoint } from '@weir/io/addresses';
import { type Clock, UDP_IDLE_MS } from '@weir/io/time';
import { IdleTimer } from '@weir/io/pace';
import {
  type Packet,
  type PacketLink,
  type WireCounter,
  type ReplyPath,
  onClosed,
  QueuedPackets,
} from '@weir/io/links';

/** Seals responses as datagrams for one client. */
export interface ResponseSealer extends Disposable {
  /** Seals a response; `undefined` when the peer's host does not fit. */
  seal(packet: Packet): Uint8Array | undefined;
}

/** The association of one client of an inbound, as the dispatcher sees it. */
export class ClientAssociation extends QueuedPackets implements PacketLink {
  readonly closed: Promise<Error | undefined>;
  readonly #resolveClosed: (cause: Error | undefined) => void;
  readonly #idle: IdleTimer;
  readonly #sealer: ResponseSealer;
  readonly #counts = { bytesRead: 0, bytesWritten: 0 };
  #client: Endpoint;
  #replyPath: ReplyPath | undefined;
  #forgetSocket: (() => void) | undefined;
  #ended = false;

  /** @param client the destination of responses, until a datagram has another source. */
  constructor(client: Endpoint, sealer: ResponseSealer, clock: Clock) {
    super();
    this.#client = client;
    this.#sealer = sealer;
    this.#idle = new IdleTimer(clock, UDP_IDLE_MS, () => this.close());
    this.#idle.start();
    const { promise, resolve } = Promise.withResolvers<Error | undefined>();
    this.closed = promise;
    this.#resolveClosed = resolve;
  }

  /** Counts the bytes of the client's datagrams. */
  get wire(): WireCounter {
    return this.#counts;
  }

  /** Time at which the association last sent or received a datagram, on the clock. */
  get lastActive(): number {
    return this.#idle.lastActive;
  }

  /**
   * Takes the packet of a datagram of `size` bytes; responses are sent to its source from now on.
   */
  deliver(packet: Packet, size: number, client: Endpoint, replyPath: ReplyPath): void {
    if (this.#ended) return;
    this.#idle.touch();
    this.#counts.bytesRead += size;
    if (client.host !== this.#client.host || client.port !== this.#client.port) {
      this.#client = client;
    }
    if (replyPath !== this.#replyPath) this.#replyBy(replyPath);
    this.queue.push(packet);
  }

  send(packet: Packet): void {
    const data = this.#ended ? undefined : this.#sealer.seal(packet);
    if (!data || !this.#replyPath) {
      this.refused++;
      return;
    }
    this.#idle.touch();
    this.#counts.bytesWritten += data.length;
    this.#replyPath.send({ data, peer: this.#client });
  }

  close(cause?: Error): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#idle.stop();
    this.#forgetSocket?.();
    this.queue.end(cause);
    this.#sealer[Symbol.dispose]();
    this.#resolveClosed(cause);
  }

  /** Responds through a socket from now on, and closes the association with it. */
  #replyBy(replyPath: ReplyPath): void {
    this.#forgetSocket?.();
    this.#replyPath = replyPath;
    this.#forgetSocket = onClosed(replyPath.closed, () => this.close());
  }
}
