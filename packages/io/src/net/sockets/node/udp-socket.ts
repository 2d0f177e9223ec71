import { createSocket, type Socket } from 'node:dgram';
import { codeOf } from '@weir/base';
import { claimPassed, type Claim } from '../../../platform/passed-sockets.ts';
import type { Endpoint } from '../../addresses/address.ts';
import { UDP_RECEIVE_BUFFER } from '../socket-limits.ts';

/** Options of a UDP socket to bind. */
export interface UdpSocketOptions {
  readonly family: 4 | 6;
  /**
   * The local IP address; by default every address of the family. The IPv6 wildcard `::` is dual
   * stack: it reaches and is reached by IPv4 peers as well.
   */
  readonly address?: string | undefined;
  /** The local port; 0, the default, lets the kernel choose. */
  readonly port?: number | undefined;
  /**
   * Buffers requested of the kernel, in bytes; UDP_RECEIVE_BUFFER for receiving and the kernel's own default for
   * sending.
   */
  readonly receiveBuffer?: number | undefined;
  readonly sendBuffer?: number | undefined;
}

/**
 * Failures of single datagrams, reported by a later receive (ICMP errors, an interface that went
 * away, memory pressure): the socket remains usable.
 */
const TRANSIENT_ERRORS: ReadonlySet<string | undefined> = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EHOSTDOWN',
  'EHOSTUNREACH',
  'EMSGSIZE',
  'ENETDOWN',
  'ENETUNREACH',
  'ENOBUFS',
  'ENOMEM',
  'EPERM',
  'EPROTO',
]);

export const isTransient = (error: Error): boolean => TRANSIENT_ERRORS.has(codeOf(error));

/** Returns the wildcard address of a family. */
const wildcardOf = (family: 4 | 6): string => (family === 4 ? '0.0.0.0' : '::');

/**
 * Opens and binds a socket of Node that sends only to IP literals.
 * @throws the system's error (`EADDRINUSE`, `EADDRNOTAVAIL`, `EAFNOSUPPORT` without IPv6).
 */
export async function bindUdpSocket(options: UdpSocketOptions): Promise<Socket> {
  const { family, address = wildcardOf(family), port = 0 } = options;
  const socket = createSocket({
    type: family === 4 ? 'udp4' : 'udp6',
    // Calling back at once keeps `send` free of a DNS lookup and of the tick that Node 24 spends on
    // literals too.
    lookup: (host, _options, callback) => callback(null, host, family),
  });
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  socket.once('error', reject);
  socket.once('listening', resolve);
  const claim = claimPassed('datagram', { host: address, port });
  if (claim) claims.set(socket, claim);
  try {
    // Exclusive: a cluster worker must not share the socket of an association.
    socket.bind({ ...(claim ? { fd: claim.fd } : { address, port }), exclusive: true });
    await promise;
  } catch (error) {
    closeUdpSocket(socket);
    throw error;
  }
  socket.off('error', reject);
  try {
    socket.setRecvBufferSize(options.receiveBuffer ?? UDP_RECEIVE_BUFFER);
    if (options.sendBuffer !== undefined) socket.setSendBufferSize(options.sendBuffer);
  } catch {
    // Not essential: systems that reject a size above their limit keep their default.
  }
  return socket;
}

/** Closes a socket of `bindUdpSocket`; its address is free when this returns. */
export function closeUdpSocket(socket: Socket): void {
  socket.close();
  claims.get(socket)?.release();
}

/** Claims on sockets passed by a service manager. */
const claims = new WeakMap<Socket, Claim>();

/**
 * Connects a bound socket to its one peer, and closes it on failure.
 * @throws the system's error (`ENETUNREACH`).
 */
export async function connectUdpSocket(socket: Socket, { host, port }: Endpoint): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  try {
    socket.connect(port, host, (error?: Error) => {
      if (error) reject(error);
      else resolve();
    });
    await promise;
  } catch (error) {
    closeUdpSocket(socket);
    throw error;
  }
}
