import { openSystemCalls } from '@weir/io/service';
import { errorCode } from '../../../packages/io/src/platform/sockets/errno.ts';

// Numbers of include/uapi/linux/{if_packet,if_ether,socket}.h.
const AF_PACKET = 17;
const SOCK_DGRAM = 2;
const ETH_P_IP = 0x0800;
const ETH_P_IPV6 = 0x86dd;

/** Sends any bytes as packets by a device, as if the kernel had routed them there. */
export class PacketSocket implements Disposable {
  readonly #calls = openSystemCalls();
  readonly #v4: number;
  readonly #v6: number;

  constructor(device: string) {
    const index = this.#calls.ifNameToIndex(device);
    if (index === 0) throw new Error(`no device ${device}`);
    this.#v4 = this.#open(ETH_P_IP, index);
    this.#v6 = this.#open(ETH_P_IPV6, index);
  }

  /** Returns whether the kernel took the packet: it may refuse a size, or be short of room. */
  send(packet: Uint8Array): boolean {
    const fd = (packet[0] ?? 0) >> 4 === 6 ? this.#v6 : this.#v4;
    return this.#calls.sendBytes(fd, packet, packet.length, 0) >= 0;
  }

  [Symbol.dispose](): void {
    this.#calls.close(this.#v4);
    this.#calls.close(this.#v6);
  }

  #open(protocol: number, index: number): number {
    const fd = this.#calls.socket(AF_PACKET, SOCK_DGRAM, 0);
    if (fd < 0) throw new Error(`socket: ${errorCode(this.#calls.errno())}`);
    // struct sockaddr_ll: family 0, protocol 2 (network order), index 4.
    const { bytes, at } = this.#calls.memory(20);
    bytes.writeUInt16LE(AF_PACKET, 0);
    bytes.writeUInt16BE(protocol, 2);
    bytes.writeInt32LE(index, 4);
    if (this.#calls.bind(fd, at, 20) !== 0) {
      throw new Error(`bind: ${errorCode(this.#calls.errno())}`);
    }
    return fd;
  }
}
