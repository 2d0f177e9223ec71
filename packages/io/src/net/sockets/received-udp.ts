import { type Endpoint, ipVersion, unmapIPv4 } from '../addresses/addresses.ts';
import { QueuedPackets } from '../packets/packets.ts';
import type { UdpBindOptions } from './sockets.ts';

/** The receiving half of a UdpSocket, over Node's sockets and over the kernel's. */
export abstract class ReceivedUdp extends QueuedPackets {
  /** UDP payload of the accepted datagrams, in bytes. */
  bytesRead = 0;
  bytesWritten = 0;
  readonly #incoming: UdpBindOptions['incoming'];

  constructor({ queue, incoming }: UdpBindOptions) {
    super(queue);
    this.#incoming = incoming;
  }

  /**
   * Queues a received datagram.
   * @param data owned by the reader.
   */
  protected deliver(data: Uint8Array, from: Endpoint): void {
    const packet = this.#incoming
      ? this.#incoming(data, from.host, from.port)
      : { data, peer: from };
    if (packet === undefined) {
      this.refused++;
      return;
    }
    this.bytesRead += data.length;
    this.queue.push(packet);
  }
}

/** The families that a bound UDP socket can send to. */
export interface UdpReach {
  readonly family: 4 | 6;
  /** Whether an IPv6 socket on `::` reaches IPv4 peers as well. */
  readonly dualStack: boolean;
}

/**
 * Returns the IP address of a peer that a socket reaches, an IPv4-mapped one as the IPv4 address;
 * `undefined` for a name, for port 0 and for a family that the socket cannot reach.
 */
export function reachable({ family, dualStack }: UdpReach, peer: Endpoint): string | undefined {
  if (!(peer.port > 0 && peer.port <= 0xffff)) return undefined;
  const host = unmapIPv4(peer.host);
  const version = ipVersion(host);
  return version === family || (version === 4 && dualStack) ? host : undefined;
}
