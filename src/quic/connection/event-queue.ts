import type { Closing } from './closing.ts';
import type { ConnectionEvent } from './connection-events.ts';
import type { Lifecycle } from './lifecycle.ts';
import type { DatagramFrames } from '../packets/datagram-frames.ts';
import type { Streams } from '../streams/streams.ts';

/** Events of the connection itself, of which there is at most one of a kind: a later one replaces it. */
type OwnEvent = Extract<
  ConnectionEvent,
  { readonly kind: 'established' | 'confirmed' | 'migrated' | 'token' }
>;

/**
 * The events of a connection, in an order that makes sense: what the handshake brought, then streams and
 * datagrams, then the end.
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
