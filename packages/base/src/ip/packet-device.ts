import type { PacketDirection } from './pcapng.ts';

/*
 * The contract between the stack and the carrier of its packets: a TUN device, a tunnel, or memory.
 * A packet is always one whole IP packet, from its IP header to its last byte.
 */

/** The limits of a device, and the work that it takes over from the stack. */
export interface DeviceTraits {
  /** Bytes of the largest IP packet on the path beyond the device, its header included: 576 to 65,535. */
  readonly mtu: number;
  /** TCP and UDP checksums may be left partial: the device, or the kernel, completes them. */
  readonly checksumOffload: boolean;
  /** TCP packets beyond `mtu` are segmented by the device (TSO). Needs `checksumOffload`. */
  readonly tcpSegmentation: boolean;
  /** UDP packets that hold several datagrams are split by the device (USO). Needs `checksumOffload`. */
  readonly udpSegmentation: boolean;
  /**
   * Bytes of the largest IP packet with a segment size, in both directions: 65,535 at most, and `mtu` if nothing is
   * segmented.
   */
  readonly largest: number;
}

/**
 * One packet from the device. The record and its buffer are reused for the next one: they are valid only
 * during the call.
 */
export interface InboundPacket {
  readonly buffer: Uint8Array;
  /** Offset in `buffer` at which the IP header begins. */
  readonly start: number;
  /** Offset in `buffer` at which the data that the device delivered ends. The length in the IP header may be less. */
  readonly end: number;
  /**
   * The transport checksum needs no check: the packet never left this machine and holds the sum of its
   * pseudo-header alone (VIRTIO_NET_HDR_F_NEEDS_CSUM), or the kernel has checked it
   * (VIRTIO_NET_HDR_F_DATA_VALID). Never set for an unchecked packet from a network.
   */
  readonly checksumVouched: boolean;
  /**
   * Bytes of payload of each segment that the device merged into this packet; the last one may be
   * shorter. For TCP it is one long segment, for UDP that many datagrams; 0 for a plain packet.
   */
  readonly segmentSize: number;
}

/**
 * Memory of the device to which packets are written, so that they are sent without a copy.
 *
 *     const at = output.reserve(length);
 *     if (at < 0) return; // try again after `onWritable`
 *     write the packet to output.buffer from `at`
 *     output.commit(length, 0, -1, 0);
 */
export interface PacketOutput {
  /** The memory; each `reserve` may replace it. */
  readonly buffer: Uint8Array;
  /**
   * Reserves room for one packet.
   * @param bytes length of the packet: at most `mtu`, or `largest` for one with a segment size.
   * @returns where the packet is to begin in `buffer`, valid until the next call of any method here;
   *   -1 when there is no room now. A reservation that is not committed is void.
   */
  reserve(bytes: number): number;
  /**
   * Passes a complete packet to the device.
   * @param length its bytes, at most what was reserved.
   * @param segmentSize bytes of payload of each packet that the device makes of it, 0 for one packet as it is. Above 0
   * only as `traits` permits, with a partial checksum, and not above what `mtu` takes.
   * @param checksumStart where the TCP or UDP header begins, from the start of the packet, if the checksum in it is the
   * folded sum of the pseudo-header that is to be completed; -1 for a packet whose checksum is complete.
   * @param checksumOffset where the checksum is in that header: 16 for TCP, 6 for UDP.
   */
  commit(length: number, segmentSize: number, checksumStart: number, checksumOffset: number): void;
}

/** Events that a device reports to its driver. The functions do not throw. */
export interface DeviceHandlers {
  readonly onPacket: (packet: InboundPacket) => void;
  /**
   * The packets of one turn have been passed on: responses to them can be sent together. Called once a
   * turn, after its last packet.
   */
  readonly onDrained: () => void;
  /** Called once after a `reserve` that returned -1, when there is room again. Never from within `reserve`. */
  readonly onWritable: () => void;
  /** Called when `traits` have changed, such as the MTU of the interface. */
  readonly onTraits: () => void;
  /**
   * Called when packets arrive again after a time without responses: outstanding data should be retransmitted. Never
   * called by devices whose path ends on this machine.
   */
  readonly onPathRestored: () => void;
}

/**
 * A source and sink of IP packets.
 *
 * The contract:
 *
 * - No packet is passed on before `start`. From then on packets are passed to `onPacket` in order of arrival,
 *   and `onDrained` follows each turn's. What is read in one turn of the event loop is bounded by the
 *   device, so that everything else gets its turn as well.
 * - Packets committed to `output` leave in order, at the latest after `flush`, which the driver calls at
 *   the end of each of its turns. A packet that cannot be sent is dropped and counted.
 * - `output` may be used from every handler, and from outside of them.
 * - `close` releases the device at once. Idempotent; no handler is called afterwards, and `reserve`
 *   returns -1.
 * - `closed` resolves, never rejects, when the device is released: with the cause given to `close`, or
 *   with the error that ended it.
 */
export interface PacketDevice {
  /** The name of the interface or of the tunnel, for messages. */
  readonly name: string;
  readonly traits: DeviceTraits;
  readonly output: PacketOutput;
  /** Starts passing packets on. Called once. */
  start(handlers: DeviceHandlers): void;
  /** Sends the committed packets, as far as there is room. */
  flush(): void;
  close(cause?: Error): void;
  readonly closed: Promise<Error | undefined>;
  /** Packets that were not sent. */
  readonly dropped: number;
}

/** Sees a packet as it passes. The bytes are valid only during the call. Does not throw. */
export type PacketTap = (direction: PacketDirection, packet: Uint8Array) => void;

/** A factory of taps for the packets of several devices. */
export interface PacketTaps {
  /** @param name the name of the device in the capture */
  tap(name: string): PacketTap;
}

/** A device over another one, which it closes with itself; a subclass sees or changes the packets of both directions. */
export abstract class DeviceLayer implements PacketDevice {
  abstract readonly output: PacketOutput;
  protected readonly device: PacketDevice;

  protected constructor(device: PacketDevice) {
    this.device = device;
  }

  get name(): string {
    return this.device.name;
  }

  get traits(): DeviceTraits {
    return this.device.traits;
  }

  get closed(): Promise<Error | undefined> {
    return this.device.closed;
  }

  /** Packets that the device below did not send. */
  get dropped(): number {
    return this.device.dropped;
  }

  start(handlers: DeviceHandlers): void {
    this.device.start({
      onPacket: (packet) => this.onPacket(packet, handlers),
      // Methods of a class would be lost in a spread.
      onDrained: () => handlers.onDrained(),
      onWritable: () => handlers.onWritable(),
      onTraits: () => handlers.onTraits(),
      onPathRestored: () => handlers.onPathRestored(),
    });
  }

  flush(): void {
    this.device.flush();
  }

  close(cause?: Error): void {
    this.device.close(cause);
  }

  /** Takes a packet from the device below. */
  protected abstract onPacket(packet: InboundPacket, handlers: DeviceHandlers): void;
}

/**
 * A device whose packets a tap sees: those from the device before its driver does, those to it when they are
 * committed, so also one that the device then drops. Offloaded work is not done yet:
 * checksums are partial, and a packet may hold many segments.
 */
export class TappedDevice extends DeviceLayer {
  readonly output: PacketOutput;
  readonly #tap: PacketTap;

  constructor(device: PacketDevice, tap: PacketTap) {
    super(device);
    this.#tap = tap;
    this.output = new TappedOutput(device.output, tap);
  }

  protected onPacket(packet: InboundPacket, handlers: DeviceHandlers): void {
    this.#tap('in', packet.buffer.subarray(packet.start, packet.end));
    handlers.onPacket(packet);
  }
}

class TappedOutput implements PacketOutput {
  readonly #output: PacketOutput;
  readonly #tap: PacketTap;
  /** Offset in `buffer` at which the packet that is being written begins; -1 without one. */
  #at = -1;

  constructor(output: PacketOutput, tap: PacketTap) {
    this.#output = output;
    this.#tap = tap;
  }

  get buffer(): Uint8Array {
    return this.#output.buffer;
  }

  reserve(bytes: number): number {
    this.#at = this.#output.reserve(bytes);
    return this.#at;
  }

  commit(length: number, segmentSize: number, checksumStart: number, checksumOffset: number): void {
    // Before the commit: the device may reuse the memory afterwards.
    if (this.#at >= 0) this.#tap('out', this.buffer.subarray(this.#at, this.#at + length));
    this.#output.commit(length, segmentSize, checksumStart, checksumOffset);
  }
}
