import type { BatchSocket, ReceivedDatagram, SendResult, Transmit } from './datagram-batch.ts';
import { BATCH } from './datagram-batch.ts';
import { Descriptor } from './descriptor.ts';
import { SystemError } from './errno.ts';
import type { KernelIo } from './kernel-io.ts';
import {
  AF_INET6,
  EAGAIN,
  EPOLLIN,
  EPOLLOUT,
  IPPROTO_IP,
  IPPROTO_IPV6,
  IPV6_RECVPKTINFO,
  IPV6_RECVTCLASS,
  IPV6_V6ONLY,
  IP_PKTINFO,
  IP_RECVTOS,
  NONBLOCK_CLOEXEC,
  SOCK_DGRAM,
  SOL_SOCKET,
  SOL_UDP,
  SO_RCVBUF,
  SO_RXQ_OVFL,
  SO_SNDBUF,
  UDP_GRO,
  UDP_SEGMENT,
} from './linux.ts';
import type { Readiness } from './poller.ts';
import { familyOf, type IpAddress } from './sockaddr.ts';
import { getOption, setOption } from './socket-options.ts';

/** Batches that one socket receives in one turn; the rest comes with the next one. */
const BATCHES_A_TURN = 4;

export interface DatagramSocketOptions {
  /** Where to bind: an IP address in text, and a port or 0. `::` takes IPv4 datagrams as well. */
  readonly local: IpAddress;
  /** Bytes that the kernel is asked to hold, each way; its limits apply. */
  readonly receiveBuffer?: number | undefined;
  readonly sendBuffer?: number | undefined;
  /** Whether datagrams of one peer may be received coalesced (UDP_GRO). */
  readonly coalesce?: boolean | undefined;
  /** Whether the own address of each received datagram, and its ECN bits, are asked for. */
  readonly details?: boolean | undefined;
  readonly onDatagram: (datagram: ReceivedDatagram) => void;
  /** There is room again after `send` has found the buffer full. */
  readonly onWritable?: (() => void) | undefined;
  /** An error that a receive reports; the socket is as good as before unless it says otherwise. */
  readonly onError?: ((error: SystemError) => void) | undefined;
}

/** A bound UDP socket that receives and sends in batches. */
export class DatagramSocket implements Readiness, BatchSocket {
  /** The bound address, with the port that the kernel chose. */
  readonly local: IpAddress;
  readonly family: number;
  offload: boolean;
  overflow = 0;
  readonly #io: KernelIo;
  readonly #descriptor: Descriptor;
  readonly #slot: number;
  readonly #options: DatagramSocketOptions;
  #waitsForRoom = false;

  /** @throws {SystemError} of the system call `bind`, with Node's code and text. */
  constructor(io: KernelIo, options: DatagramSocketOptions) {
    const { local } = options;
    this.#io = io;
    this.#options = options;
    this.family = familyOf(local);
    const { calls, addresses } = io;
    const target = { address: local.host, port: local.port };
    const fd = calls.socket(this.family, SOCK_DGRAM | NONBLOCK_CLOEXEC, 0);
    if (fd < 0) throw new SystemError('bind', calls.errno(), target);
    this.#descriptor = new Descriptor(calls, fd);
    try {
      this.#setOptions(local.host === '::');
      const length = addresses.encode(local, this.family);
      if (calls.bind(fd, addresses.at, length) !== 0) {
        throw new SystemError('bind', calls.errno(), target);
      }
      // A kernel without UDP_SEGMENT does not know the option either.
      this.offload = getOption(io, fd, SOL_UDP, UDP_SEGMENT) !== undefined;
      const bound = addresses.localOf(fd);
      this.local = bound && 'host' in bound ? bound : local;
      this.#slot = io.poller.add(fd, this, EPOLLIN);
    } catch (error) {
      this.#descriptor.close();
      throw error;
    }
  }

  /** -1 once it is closed. */
  get fd(): number {
    return this.#descriptor.number;
  }

  /**
   * Sends now what the kernel takes. When its buffer is full, `onWritable` is called later, and the
   * rest is the caller's.
   */
  send(transmits: readonly Transmit[], offset = 0): SendResult {
    if (this.fd < 0)
      return { done: transmits.length, offset: 0, failed: transmits.length, full: false };
    const result = this.#io.datagrams.send(this, transmits, offset);
    if (result.full && !this.#waitsForRoom) this.#waitForRoom(true);
    return result;
  }

  ready(events: number): void {
    if (events & EPOLLOUT && this.#waitsForRoom) {
      this.#waitForRoom(false);
      this.#options.onWritable?.();
    }
    // Level-triggered: what is left comes again.
    for (let i = 0; i < BATCHES_A_TURN && this.fd >= 0; i++) {
      const count = this.#io.datagrams.receive(this, this.#options.onDatagram);
      if (count < 0 && count !== -EAGAIN)
        this.#options.onError?.(new SystemError('recvmsg', -count));
      if (count < BATCH) return;
    }
  }

  /** Idempotent. */
  close(): void {
    if (this.fd < 0) return;
    this.#io.poller.remove(this.#slot);
    this.#descriptor.close();
  }

  #setOptions(dualStack: boolean): void {
    const [io, fd] = [this.#io, this.fd];
    const { receiveBuffer, sendBuffer, coalesce, details } = this.#options;
    const isIPv6 = this.family === AF_INET6;
    if (isIPv6) setOption(io, fd, IPPROTO_IPV6, IPV6_V6ONLY, dualStack ? 0 : 1);
    // Wishes: a kernel that refuses one of these keeps its default.
    if (receiveBuffer !== undefined) setOption(io, fd, SOL_SOCKET, SO_RCVBUF, receiveBuffer);
    if (sendBuffer !== undefined) setOption(io, fd, SOL_SOCKET, SO_SNDBUF, sendBuffer);
    setOption(io, fd, SOL_SOCKET, SO_RXQ_OVFL, 1);
    if (coalesce) setOption(io, fd, SOL_UDP, UDP_GRO, 1);
    if (!details) return;
    if (isIPv6) {
      setOption(io, fd, IPPROTO_IPV6, IPV6_RECVPKTINFO, 1);
      setOption(io, fd, IPPROTO_IPV6, IPV6_RECVTCLASS, 1);
    } else setOption(io, fd, IPPROTO_IP, IP_PKTINFO, 1);
    if (!isIPv6 || dualStack) setOption(io, fd, IPPROTO_IP, IP_RECVTOS, 1);
  }

  #waitForRoom(waits: boolean): void {
    this.#waitsForRoom = waits;
    this.#io.poller.modify(this.#slot, this.fd, waits ? EPOLLIN | EPOLLOUT : EPOLLIN);
  }
}
