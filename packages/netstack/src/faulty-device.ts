import type { RandomSource } from '@weir/base/random';
import type { DeviceHandlers, InboundPacket, PacketDevice, PacketOutput } from '@weir/base/ip';
import { DeviceLayer } from '@weir/base/ip/packet-device';
import type { Clock, Timer } from '@weir/io/time';

/** The faults of a path, as shares of its packets from 0 to 1; a fault that is left out does not happen. */
export interface Faults {
  readonly drop?: number;
  readonly duplicate?: number;
  /** One bit is flipped. A packet whose checksum is not complete yet is dropped instead: the device would repair it. */
  readonly corrupt?: number;
  /** The packet is late by up to `REORDERED_BY`, so that others overtake it. */
  readonly reorder?: number;
  /** Milliseconds by which every packet is delayed. */
  readonly delay?: number;
}

/** The most milliseconds by which a reordered packet is late. */
const REORDERED_BY = 20;
const LARGEST_PACKET = 65_535;
const CHANCES = 2 ** 32;

/**
 * A device between a driver and another device whose packets suffer faults in both directions: as the random source and
 * the clock have it, so that a seed and a simulated clock repeat them.
 */
export class FaultyDevice extends DeviceLayer implements PacketOutput {
  readonly output: PacketOutput = this;
  /** Packets are written here, and copied to the device once their fate is known. */
  readonly buffer = new Uint8Array(LARGEST_PACKET);
  readonly #faults: Faults;
  readonly #clock: Clock;
  readonly #random: RandomSource;
  readonly #timers = new Set<Timer>();
  #isClosed = false;

  constructor(device: PacketDevice, faults: Faults, clock: Clock, random: RandomSource) {
    super(device);
    this.#faults = faults;
    this.#clock = clock;
    this.#random = random;
  }

  override close(cause?: Error): void {
    this.#isClosed = true;
    for (const timer of this.#timers) timer.cancel();
    this.#timers.clear();
    super.close(cause);
  }

  reserve(bytes: number): number {
    // The reservation shows whether there is room, and is void.
    return bytes > LARGEST_PACKET || this.device.output.reserve(bytes) < 0 ? -1 : 0;
  }

  commit(length: number, segmentSize: number, checksumStart: number, checksumOffset: number): void {
    const { output } = this.device;
    const packet = this.buffer.subarray(0, length);
    this.#pass(packet, checksumStart < 0, (bytes, isLate) => {
      const at = output.reserve(length);
      if (at < 0) return;
      output.buffer.set(bytes, at);
      output.commit(length, segmentSize, checksumStart, checksumOffset);
      if (isLate) this.device.flush();
    });
  }

  protected onPacket(
    { buffer, start, end, checksumVouched, segmentSize }: InboundPacket,
    handlers: DeviceHandlers,
  ): void {
    const packet = buffer.subarray(start, end);
    this.#pass(packet, !checksumVouched, (bytes, isLate) => {
      const { length } = bytes;
      const inbound = { buffer: bytes, start: 0, end: length, checksumVouched, segmentSize };
      handlers.onPacket(inbound);
      if (isLate) handlers.onDrained();
    });
  }

  /** Decides the fate of a packet, whose memory is valid during the call only. */
  #pass(
    packet: Uint8Array,
    isChecked: boolean,
    deliver: (bytes: Uint8Array, isLate: boolean) => void,
  ): void {
    const { drop, duplicate, corrupt, reorder, delay = 0 } = this.#faults;
    if (this.#isClosed || this.#happens(drop)) return;
    const copy = Uint8Array.from(packet);
    if (this.#happens(corrupt)) {
      if (!isChecked) return;
      const at = this.#random.below(copy.length);
      copy[at] = (copy[at] ?? 0) ^ (1 << this.#random.below(8));
    }
    const copies = this.#happens(duplicate) ? 2 : 1;
    for (let count = 0; count < copies; count++) {
      const late = delay + (this.#happens(reorder) ? 1 + this.#random.below(REORDERED_BY) : 0);
      if (late > 0) this.#later(late, () => deliver(copy, true));
      else deliver(copy, false);
    }
  }

  #happens(share: number | undefined): boolean {
    return share !== undefined && share > 0 && this.#random.below(CHANCES) < share * CHANCES;
  }

  #later(milliseconds: number, task: () => void): void {
    const timer = this.#clock.after(milliseconds, () => {
      this.#timers.delete(timer);
      task();
    });
    this.#timers.add(timer);
  }
}
