import type { Socket } from 'node:net';
import type { Endpoint } from '../net/address.ts';
import type { ByteLink, WireCounter } from '../net/link.ts';
import type { AcceptedConnection } from '../net/sockets.ts';
import type { Place, UnauthenticatedClients } from './unauthenticated-clients.ts';

/** An accepted connection with its place among those whose clients have not authenticated. */
export class CountedConnection implements AcceptedConnection {
  readonly remote: Endpoint | undefined;
  readonly local: Endpoint | undefined;
  readonly #below: AcceptedConnection;
  readonly #place: Place;
  #destroy: ((cause: Error) => void) | undefined;

  constructor(below: AcceptedConnection, clients: UnauthenticatedClients) {
    this.#below = below;
    this.remote = below.remote;
    this.local = below.local;
    this.#place = clients.enter(below.remote?.host, (cause) => this.#evict(cause));
  }

  /** Its client has authenticated. */
  get onAuthenticated(): () => void {
    return this.#place.leave;
  }

  link(): ByteLink & WireCounter {
    const link = this.#below.link();
    this.#destroy = (cause) => link.destroy(cause);
    void link.closed.then(this.#place.leave);
    return link;
  }

  socket(): Socket {
    const socket = this.#below.socket();
    this.#destroy = () => socket.destroy();
    socket.once('close', this.#place.leave);
    return socket;
  }

  destroy(): void {
    this.#place.leave();
    this.#below.destroy();
  }

  #evict(cause: Error): void {
    if (this.#destroy) this.#destroy(cause);
    else this.#below.destroy();
  }
}
