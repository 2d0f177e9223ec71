import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';

interface Connection {
  /** The client's address and port, which TLS and the connection below it have in common; '' on a unix socket. */
  readonly peer: string;
  isTrusted: boolean;
}

/**
 * The connections of a server, limited in number. Any process of this host can open connections: at the limit the
 * oldest one that has shown no secret is closed, so that others cannot lock out clients that have a secret.
 */
export class LocalConnections {
  readonly #most: number;
  /** In order of arrival, the oldest first. */
  readonly #connections = new Map<Duplex, Connection>();

  constructor(most: number) {
    this.#most = most;
  }

  /** Adds a connection; at the limit it replaces the oldest untrusted one, or is closed if all are trusted. */
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

  /** Marks a connection whose client has shown a secret. @param socket the connection, or TLS on it */
  trust(socket: Duplex): void {
    const peer = peerOf(socket);
    const found =
      this.#connections.get(socket) ??
      (peer === ''
        ? undefined
        : [...this.#connections.values()].find((client) => client.peer === peer));
    if (found) found.isTrusted = true;
  }

  /** Closes all connections. */
  close(): void {
    for (const socket of this.#connections.keys()) socket.destroy();
  }
}

function peerOf(socket: Duplex): string {
  const { remoteAddress, remotePort } = socket as Partial<Socket>;
  return remotePort === undefined ? '' : `${remoteAddress} ${remotePort}`;
}
