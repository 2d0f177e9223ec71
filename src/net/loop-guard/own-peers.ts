import { formatEndpoint, type Endpoint } from '../addresses/address.ts';
import { DialError } from '../errors.ts';
import type { DialOrigin, OwnListeners } from './own-listeners.ts';
import type { DialledSocket, UdpSocket } from '../sockets/sockets.ts';

/** Results cached for peers whose port is that of an own listener; the cache is cleared when it is full. */
const KEPT_RESULTS = 256;

/** Returns a UDP socket as OwnListeners observes it. */
export const dialledUdp = ({
  local,
  closed,
}: Pick<UdpSocket, 'local' | 'closed'>): DialledSocket => ({
  local,
  onClose: (callback) => void closed.then(callback),
});

/**
 * Checks the peers to which a UDP socket sends for a client, as `OwnListeners.approach` checks a
 * connection. A datagram to a port without an own listener costs one look-up.
 */
export class OwnPeers {
  readonly #own: OwnListeners;
  readonly #origin: DialOrigin;
  readonly #socket: DialledSocket;
  readonly #onRefused: (error: DialError, peer: Endpoint) => void;
  readonly #results = new Map<string, boolean>();
  /** Ports of own listeners to which the socket has been observed to send. */
  readonly #ports = new Set<number>();
  #foundAt = 0;

  /** @param onRefused called once for each refused peer while its result is cached. */
  constructor(
    own: OwnListeners,
    origin: DialOrigin,
    socket: UdpSocket,
    onRefused: (error: DialError, peer: Endpoint) => void,
  ) {
    this.#own = own;
    this.#origin = origin;
    this.#socket = dialledUdp(socket);
    this.#onRefused = onRefused;
  }

  /** Whether a datagram may be sent to a peer, which is an IP address. */
  allows(peer: Endpoint): boolean {
    if (!this.#own.hasPort(peer.port, 'udp')) return true;
    if (this.#foundAt !== this.#own.changes || this.#results.size >= KEPT_RESULTS) {
      this.#results.clear();
      this.#foundAt = this.#own.changes;
    }
    const key = formatEndpoint(peer);
    const known = this.#results.get(key);
    if (known !== undefined) return known;
    const allowed = this.#approach(peer);
    this.#results.set(key, allowed);
    return allowed;
  }

  #approach(peer: Endpoint): boolean {
    try {
      const observe = this.#own.approach(peer, this.#origin, true, 'udp');
      if (observe && !this.#ports.has(peer.port)) {
        this.#ports.add(peer.port);
        observe(this.#socket);
      }
      return true;
    } catch (error) {
      if (!(error instanceof DialError)) throw error;
      this.#onRefused(error, peer);
      return false;
    }
  }
}
