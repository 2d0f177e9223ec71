import type { Socket } from 'node:net';
import type { Endpoint } from '../net/addresses/address.ts';
import type { ByteLink, WireCounter } from '../net/links/link.ts';
import type { AcceptedConnection } from '../net/sockets/sockets.ts';
import type { Evictable, ClientPlace, UnauthenticatedClients } from './unauthenticated-clients.ts';

/** An accepted connection, counted among those whose clients have not authenticated. */
export class CountedConnection implements AcceptedConnection, Evictable {
  readonly remote: Endpoint | undefined;
  readonly local: Endpoint | undefined;
  readonly #below: AcceptedConnection;
  readonly #place: ClientPlace;
  #taken: ByteLink | Socket | undefined;

  constructor(below: AcceptedConnection, unauthenticated: UnauthenticatedClients) {
    this.#below = below;
    this.remote = below.remote;
    this.local = below.local;
    this.#place = unauthenticated.enter(below.remote?.host, this);
  }

  /** Stops counting the connection; called when the client has authenticated, and when the connection has ended. */
  get leave(): () => void {
    return this.#place.leave;
  }

  link(): ByteLink & WireCounter {
    const link = this.#below.link();
    this.#taken = link;
    return link;
  }

  socket(): Socket {
    const socket = this.#below.socket();
    this.#taken = socket;
    return socket;
  }

  destroy(): void {
    this.leave();
    this.#below.destroy();
  }

  evict(cause: Error): void {
    const taken = this.#taken;
    // Without an error: nothing may be listening for errors of the socket yet.
    if (taken && 'setNoDelay' in taken) taken.destroy();
    else if (taken) taken.destroy(cause);
    else this.#below.destroy();
  }
}
