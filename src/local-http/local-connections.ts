import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';

interface Connection {
  /** Its address, which a connection has in common with TLS on it; '' on a unix socket. */
  readonly peer: string;
  isTrusted: boolean;
}

/**
 * The connections of a server, of which there are at most a number. Any process of this host can open connections: at
 * the bound the oldest that has shown no secret gives way, so that others cannot keep out who has one.
 */
export class LocalConnections {
  readonly #most: number;
  /** From the oldest to the newest. */
  readonly #connections = new Map<Duplex, Connection>();

  constructor(most: number) {
    this.#most = most;
  }

  /** Takes a connection, or closes it where all others are trusted. */
  take(socket: Duplex): void {
    if (this.#connections.size >= this.#most) {
      const [oldest] = [...this.#connections].find(([, { isTrusted }]) => !isTrusted) ?? [];
      (oldest ?? socket).destroy();
      if (!oldest) return;
      this.#connections.delete(oldest);
    }
    this.#connections.set(socket, { peer: peerOf(socket), isTrusted: false });
    socket.on('error', () => undefined).once('close', () => this.#connections.delete(socket));
  }

  /** A client has shown that it may be here. @param socket the connection, or TLS on it */
  trust(socket: Duplex): void {
    const peer = peerOf(socket);
    const found =
      this.#connections.get(socket) ??
      (peer === ''
        ? undefined
        : [...this.#connections.values()].find((client) => client.peer === peer));
    if (found) found.isTrusted = true;
  }

  /** Closes all. */
  close(): void {
    for (const socket of this.#connections.keys()) socket.destroy();
  }
}

function peerOf(socket: Duplex): string {
  const { remoteAddress, remotePort } = socket as Partial<Socket>;
  return remotePort === undefined ? '' : `${remoteAddress} ${remotePort}`;
}
