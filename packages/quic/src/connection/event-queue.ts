import type { IpEndpoint } from '@weir/base/ip';
import type { CloseReason } from '../contract.ts';
import type { StreamEvent } from '../streams/stream.ts';
import type { Closing } from './closing.ts';
import type { Lifecycle } from './lifecycle.ts';
import type { DatagramFrames } from '../packets/datagram-frames.ts';
import type { Streams } from '../streams/streams.ts';

/** An event of a connection, for its driver; see `QuicCore.nextEvent`. */
export type ConnectionEvent =
  | StreamEvent
  /** The handshake is complete (RFC 9001 §4.1.1): streams and datagrams may be used, and the peer is authenticated. */
  | { readonly kind: 'established' }
  /**
   * The handshake is confirmed (§4.1.2). From now on the peer uses only ids that were issued to it: a server's endpoint
   * forgets the id that the client had chosen.
   */
  | { readonly kind: 'confirmed' }
  /** A DATAGRAM frame was received; the handler owns its bytes. */
  | { readonly kind: 'datagram'; readonly data: Uint8Array }
  /** The peer has migrated to another address, which is validated (RFC 9000 §9). */
  | { readonly kind: 'migrated'; readonly remote: IpEndpoint }
  /** A token for the client's next connection to this server (§8.1.3). */
  | { readonly kind: 'token'; readonly token: Uint8Array }
  /** The connection has ended for the application; it still responds to late packets for some time. */
  | { readonly kind: 'closed'; readonly reason: CloseReason }
  /** The last event: nothing is sent or received any more (§10.2), and the connection can be released. */
  | { readonly kind: 'drained' };

/** Events of the connection itself. At most one of each kind is queued: a later one replaces it. */
type OwnEvent = Extract<
  ConnectionEvent,
  { readonly kind: 'established' | 'confirmed' | 'migrated' | 'token' }
>;

/**
 * The events of a connection: first events of the handshake and of paths, then streams and datagrams, then the
 * end.
 */
export class EventQueue {
  readonly #streams: Streams;
  readonly #datagrams: DatagramFrames;
  readonly #closing: Closing;
  readonly #lifecycle: Lifecycle;
  readonly #own: OwnEvent[] = [];
  #reported: 'nothing' | 'closed' | 'drained' = 'nothing';

  constructor(streams: Streams, datagrams: DatagramFrames, closing: Closing, lifecycle: Lifecycle) {
    this.#streams = streams;
    this.#datagrams = datagrams;
    this.#closing = closing;
    this.#lifecycle = lifecycle;
  }

  push(event: OwnEvent): void {
    const before = this.#own.findIndex(({ kind }) => kind === event.kind);
    if (before < 0) this.#own.push(event);
    else this.#own[before] = event;
  }

  next(): ConnectionEvent | undefined {
    if (this.#own.length > 0) return this.#own.shift();
    const event = this.#streams.nextEvent();
    if (event !== undefined) return event;
    const data = this.#datagrams.next();
    if (data !== undefined) return { kind: 'datagram', data };
    return this.#end();
  }

  #end(): ConnectionEvent | undefined {
    const { reason } = this.#closing;
    if (reason === undefined) return undefined;
    if (this.#reported === 'nothing') {
      this.#reported = 'closed';
      return { kind: 'closed', reason };
    }
    if (this.#reported === 'drained' || this.#lifecycle.state !== 'closed') return undefined;
    this.#reported = 'drained';
    return { kind: 'drained' };
  }
}
