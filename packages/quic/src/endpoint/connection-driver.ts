import { ChurnMap } from '@weir/base/collections';
import type { CreateController } from '@weir/congestion';
import {
  endpointText,
  isSameEndpoint,
  copyEndpoint,
  type IpEndpoint,
  type Ecn,
} from '@weir/base/ip';
import type { Endpoint } from '@weir/io/addresses';
import { type Clock, abortReason } from '@weir/io/time';
import type { WireCounter } from '@weir/io/links';
import { LINK_CLOSED } from '@weir/io';
import type { ConnectionEvent } from '../connection/lifecycle.ts';
import type { QuicCore } from '../connection/quic-core.ts';
import type { CloseReason, QuicConnection, QuicHandlers, QuicStream } from '../contract.ts';
import type { Driver, Served } from './driver.ts';
import { ConnectionEndedError } from '../errors.ts';
import { StreamLink, type StreamLinkHost } from '../stream-link.ts';

/** The interface of `QuicCore` for its driver; tests implement a scripted one. */
export type ConnectionCore = Pick<QuicCore, keyof QuicCore>;

/** The endpoint of a connection, which is notified of its state. */
export interface ConnectionHost {
  /** Called when the handshake is complete. @returns the handlers of the connection's events. */
  onEstablished(connection: ConnectionDriver): QuicHandlers | undefined;
  /** Called when the peer has authenticated itself to the protocol above. */
  onAuthenticated(connection: ConnectionDriver): void;
  /** Called when the handshake is confirmed: the id that the client had chosen is no longer used. */
  onConfirmed(connection: ConnectionDriver): void;
  onMigrated(connection: ConnectionDriver): void;
  onToken(connection: ConnectionDriver, token: Uint8Array): void;
  /** Called when the connection has ended, and is kept only to respond to late packets. */
  onClosed(connection: ConnectionDriver): void;
  /** Called when the connection can be released. */
  onDrained(connection: ConnectionDriver): void;
}

type StreamKind = 'bidirectional' | 'unidirectional';

interface OpenWaiter {
  readonly resolve: (stream: QuicStream) => void;
  readonly reject: (error: Error) => void;
  readonly signal: AbortSignal | undefined;
  readonly onAbort: () => void;
}

/** A connection for the protocols above: links and promises around its core. */
export class ConnectionDriver implements QuicConnection, Served, StreamLinkHost {
  // Fields of `DeadlineQueue`, `PeerIndex` and the queue of the driver.
  place = -1;
  placedAt = 0;
  /** Set by `PeerIndex` alone. */
  peerKey = 0;
  isQueued = false;

  readonly core: ConnectionCore;
  readonly wire: { -readonly [key in keyof WireCounter]: number } = {
    bytesRead: 0,
    bytesWritten: 0,
  };
  readonly established: Promise<void>;
  readonly closed: Promise<CloseReason>;
  readonly clock: Clock;
  readonly #host: ConnectionHost;
  readonly #loop: Driver;
  readonly #streams = new ChurnMap<number, StreamLink>();
  readonly #waiting: Readonly<Record<StreamKind, Set<OpenWaiter>>> = {
    bidirectional: new Set(),
    unidirectional: new Set(),
  };
  readonly #established = Promise.withResolvers<void>();
  readonly #closed = Promise.withResolvers<CloseReason>();
  #handlers: QuicHandlers | undefined;
  #ended: CloseReason | undefined;
  /** The streams that were open when the connection ended, the first at the end, and the error that they fail with. */
  #ending: StreamLink[] | undefined;
  #endError: Error = LINK_CLOSED;
  #remote: { readonly numbers: IpEndpoint; readonly text: Endpoint } | undefined;

  /** @param create creates the core, and routes the packets of its ids to this connection. */
  constructor(
    host: ConnectionHost,
    loop: Driver,
    clock: Clock,
    create: (owner: ConnectionDriver) => ConnectionCore,
  ) {
    this.#host = host;
    this.#loop = loop;
    this.clock = clock;
    this.established = this.#established.promise;
    this.closed = this.#closed.promise;
    // Nothing awaits this promise on servers, or after a dial was abandoned.
    this.established.catch(() => undefined);
    this.core = create(this);
  }

  get remote(): Endpoint {
    const numbers = this.core.remote;
    if (!this.#remote || !isSameEndpoint(this.#remote.numbers, numbers)) {
      this.#remote = { numbers: copyEndpoint(numbers), text: endpointText(numbers) };
    }
    return this.#remote.text;
  }

  get local(): Endpoint | undefined {
    const { local } = this.core;
    return local && endpointText(local);
  }

  get peer(): IpEndpoint {
    return this.core.remote;
  }

  get maxDatagramSize(): number {
    return this.core.maxDatagramSize;
  }

  get hasOpenStream(): boolean {
    for (const { bidirectional } of this.#streams.values()) if (bidirectional) return true;
    return false;
  }

  /** Whether the connection has ended for the protocol above. */
  get isEnded(): boolean {
    return this.#ended !== undefined;
  }

  openStream(kind: StreamKind, signal?: AbortSignal): Promise<QuicStream> {
    if (this.#ended) return Promise.reject(new ConnectionEndedError(this.#ended));
    if (signal?.aborted) return Promise.reject(abortReason(signal));
    const waiting = this.#waiting[kind];
    const id = waiting.size === 0 ? this.core.openStream(kind === 'bidirectional') : undefined;
    if (id !== undefined) return Promise.resolve(this.#addStream(id, true));
    const { promise, resolve, reject } = Promise.withResolvers<QuicStream>();
    const onAbort = (): void => {
      waiting.delete(waiter);
      if (signal) reject(abortReason(signal));
    };
    const waiter: OpenWaiter = { resolve, reject, signal, onAbort };
    waiting.add(waiter);
    signal?.addEventListener('abort', onAbort, { once: true });
    // Lets the core send STREAMS_BLOCKED.
    this.touch();
    return promise;
  }

  authenticated(): void {
    this.core.authenticated();
    this.#host.onAuthenticated(this);
    this.touch();
  }

  allowStreams(atOnce: number): void {
    this.core.allowStreams(atOnce);
    this.touch();
  }

  sendDatagram(data: Uint8Array): boolean {
    if (this.#ended || !this.core.sendDatagram(data)) return false;
    this.touch();
    return true;
  }

  useController(create: CreateController): void {
    this.core.useController(create);
    this.touch();
  }

  close(code: number, reason = ''): void {
    if (this.#ended) return;
    this.core.close(code, reason, this.clock.now());
    this.touch();
  }

  // ---- for the endpoint, the driver of its socket and the streams ----

  /** Ends the connection with a transport error code; its `closed` event is handled at once. */
  closeTransport(code: number): void {
    try {
      this.core.closeTransport(code, '', this.clock.now());
      this.handleEvents();
      this.touch();
    } catch (error) {
      this.#loop.fail(this, error);
    }
  }

  /** Schedules the connection, which has work to do: it is served in this turn of the event loop, or the next one. */
  touch(): void {
    this.#loop.touch(this);
  }

  /**
   * Processes consecutive datagrams of the peer. Never throws, because datagrams of other connections follow.
   * @param stride bytes of each datagram but the last, which may be shorter.
   * @param wireBytes bytes of all datagrams on the wire, obfuscation included.
   */
  receive(
    buffer: Uint8Array,
    offset: number,
    length: number,
    stride: number,
    peer: IpEndpoint,
    own: IpEndpoint | undefined,
    ecn: Ecn,
    now: number,
    wireBytes: number,
  ): void {
    this.wire.bytesRead += wireBytes;
    try {
      this.core.receiveBatch(buffer, offset, length, stride, peer, own, ecn, now);
      this.#passDatagrams();
      this.touch();
    } catch (error) {
      this.#loop.fail(this, error);
    }
  }

  /** Delivers DATAGRAM frames at once: one turn may bring more of them than the core queues. */
  #passDatagrams(): void {
    const handlers = this.#handlers;
    if (!handlers) return;
    for (;;) {
      const data = this.core.nextDatagram();
      if (data === undefined) return;
      handlers.onDatagram(data);
    }
  }

  onTooLarge(bytes: number): void {
    this.core.onTooLarge(bytes, this.clock.now());
    this.touch();
  }

  /**
   * Handles events of the core, and ends the streams of a connection that has ended.
   *
   * @param limit most events to handle; when as many were handled, there may be more.
   * @returns the number of events handled.
   */
  handleEvents(limit = Infinity): number {
    let handled = 0;
    for (; handled < limit; handled++) {
      const stream = this.#ending?.pop();
      if (stream) {
        stream.onConnectionEnd(this.#endError);
        continue;
      }
      const event = this.core.nextEvent();
      if (event === undefined) break;
      this.#handle(event);
    }
    return handled;
  }

  /** Ends the connection at once without sending anything: its socket is closed, or another client replaces it. */
  abandon(): void {
    this.core.abandon(this.clock.now());
    this.handleEvents();
  }

  #handle(event: ConnectionEvent): void {
    switch (event.kind) {
      case 'stream-readable':
        this.#streams.get(event.id)?.onReadable();
        break;
      case 'stream-writable':
        this.#streams.get(event.id)?.onWritable();
        break;
      case 'datagram':
        this.#handlers?.onDatagram(event.data);
        break;
      case 'stream-opened':
        this.#handlers?.onStream(this.#addStream(event.id, false));
        break;
      case 'stream-reset':
        this.#streams.get(event.id)?.onReset(event.code);
        break;
      case 'stream-stopped':
        this.#streams.get(event.id)?.onStopped(event.code);
        break;
      case 'stream-closed':
        this.#streams.get(event.id)?.onClosed();
        this.#streams.delete(event.id);
        this.#handlers?.onStreamClosed?.();
        break;
      case 'streams-available':
        this.#openWaiting(event.bidirectional ? 'bidirectional' : 'unidirectional');
        break;
      case 'established':
        this.#onEstablished();
        break;
      case 'confirmed':
        this.#host.onConfirmed(this);
        break;
      case 'migrated':
        this.#host.onMigrated(this);
        this.#handlers?.onMigrated?.(this.remote);
        break;
      case 'token':
        this.#host.onToken(this, event.token);
        break;
      case 'closed':
        this.#onClosed(event.reason);
        break;
      case 'drained':
        this.#host.onDrained(this);
        break;
      default:
        event satisfies never;
    }
  }

  #onEstablished(): void {
    this.#handlers = this.#host.onEstablished(this);
    this.#established.resolve();
    this.#openWaiting('bidirectional');
    this.#openWaiting('unidirectional');
  }

  #addStream(id: number, isOwn: boolean): StreamLink {
    const stream = new StreamLink(this, id, isOwn);
    this.#streams.set(id, stream);
    return stream;
  }

  #openWaiting(kind: StreamKind): void {
    const waiting = this.#waiting[kind];
    for (const waiter of waiting) {
      const id = this.core.openStream(kind === 'bidirectional');
      if (id === undefined) return;
      waiting.delete(waiter);
      waiter.signal?.removeEventListener('abort', waiter.onAbort);
      waiter.resolve(this.#addStream(id, true));
    }
  }

  #onClosed(reason: CloseReason): void {
    if (this.#ended) return;
    this.#ended = reason;
    const error = new ConnectionEndedError(reason);
    this.#established.reject(error);
    for (const waiting of Object.values(this.#waiting)) {
      for (const waiter of waiting) {
        waiter.signal?.removeEventListener('abort', waiter.onAbort);
        waiter.reject(error);
      }
      waiting.clear();
    }
    // There may be thousands of streams, with a flow on each: `handleEvents` ends them.
    this.#endError = error;
    this.#ending = [...this.#streams.values()].toReversed();
    this.#streams.clear();
    this.#handlers = undefined;
    this.#closed.resolve(reason);
    this.#host.onClosed(this);
  }
}
