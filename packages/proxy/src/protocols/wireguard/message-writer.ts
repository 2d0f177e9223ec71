import type { IpEndpoint } from '@weir/base/ip';
import type { TunnelOutput, TunnelSettings } from './contract.ts';
import type { TransportSession } from './transport-session.ts';
import { DataOffset, datagramSize, paddedLength } from './wire.ts';

/** Writes messages as configured: with padding up to the MTU, and the reserved bytes. */
export class MessageWriter {
  settings: TunnelSettings;

  constructor(settings: TunnelSettings) {
    this.settings = settings;
  }

  /** Copies a handshake message to `out`. @returns false when there is no room. */
  write(message: Uint8Array, destination: IpEndpoint, out: TunnelOutput): boolean {
    const at = out.reserve(message.length);
    if (at < 0) return false;
    out.buffer.set(message, at);
    this.#writeReserved(out.buffer, at);
    out.commit(message.length, destination);
    return true;
  }

  /** Copies a packet to `out`, to be sealed there. @returns the offset of its datagram; -1 when there is no room. */
  place(packet: Uint8Array, out: TunnelOutput): number {
    const at = out.reserve(datagramSize(packet.length, this.settings.mtu));
    if (at >= 0) out.buffer.set(packet, at + DataOffset.packet);
    return at;
  }

  /** Pads and seals the packet of `length` bytes at `at + DataOffset.packet`. @returns the bytes of the datagram. */
  seal(session: TransportSession, bytes: Uint8Array, at: number, length: number): number {
    const padded = paddedLength(length, this.settings.mtu);
    const end = at + DataOffset.packet + length;
    if (padded > length) bytes.fill(0, end, end + padded - length);
    const size = session.seal(bytes, at, padded);
    this.#writeReserved(bytes, at);
    return size;
  }

  #writeReserved(bytes: Uint8Array, at: number): void {
    const { reserved } = this.settings;
    if (reserved === undefined) return;
    bytes[at + 1] = reserved[0];
    bytes[at + 2] = reserved[1];
    bytes[at + 3] = reserved[2];
  }
}
