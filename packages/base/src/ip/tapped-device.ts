import type {
  DeviceHandlers,
  DeviceTraits,
  InboundPacket,
  PacketDevice,
  PacketOutput,
} from './packet-device.ts';
import type { PacketDirection } from './pcapng.ts';

/** Sees a packet as it passes. The bytes are valid only during the call. Does not throw. */
export type PacketTap = (direction: PacketDirection, packet: Uint8Array) => void;

/** A factory of taps for the packets of several devices. */
export interface PacketTaps {
  /** @param name the name of the device in the capture */
  tap(name: string): PacketTap;
}

/**
 * A device whose packets a tap sees: those from the device before its driver does, those to it when they are
 * committed, so also one that the device then drops. Offloaded work is not done yet:
 * checksums are partial, and a packet may hold many segments.
 */
export class TappedDevice implements PacketDevice {
  readonly output: PacketOutput;
  readonly #device: PacketDevice;
  readonly #tap: PacketTap;

  constructor(device: PacketDevice, tap: PacketTap) {
    this.#device = device;
    this.#tap = tap;
    this.output = new TappedOutput(device.output, tap);
  }

  get name(): string {
    return this.#device.name;
  }

  get traits(): DeviceTraits {
    return this.#device.traits;
  }

  get closed(): Promise<Error | undefined> {
    return this.#device.closed;
  }

  get dropped(): number {
    return this.#device.dropped;
  }

  start(handlers: DeviceHandlers): void {
    const onPacket = (packet: InboundPacket): void => {
      this.#tap('in', packet.buffer.subarray(packet.start, packet.end));
      handlers.onPacket(packet);
    };
    this.#device.start({
      onPacket,
      onDrained: () => handlers.onDrained(),
      onWritable: () => handlers.onWritable(),
      onTraits: () => handlers.onTraits(),
      onPathRestored: () => handlers.onPathRestored(),
    });
  }

  flush(): void {
    this.#device.flush();
  }

  close(cause?: Error): void {
    this.#device.close(cause);
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
