import type {
  DeviceHandlers,
  DeviceTraits,
  InboundPacket,
  PacketDevice,
  PacketOutput,
} from '@weir/base/ip';

/** Traits of a device without offloads. */
export const plainTraits = (mtu = 1500): DeviceTraits => ({
  mtu,
  checksumOffload: false,
  tcpSegmentation: false,
  udpSegmentation: false,
  largest: mtu,
});

/** Traits of a device with all of them, as a TUN device of Linux has. */
export const offloadTraits = (mtu = 1500): DeviceTraits => ({
  mtu,
  checksumOffload: true,
  tcpSegmentation: true,
  udpSegmentation: true,
  largest: 65_535,
});

/** Packets that wait for the other side before `reserve` finds no room. */
const QUEUE = 256;
const LARGEST = 65_600;

/** Two devices joined back to back: what one sends, the other receives, a turn of the event loop later. */
export function devicePair(
  traits: DeviceTraits = plainTraits(),
  soon: (task: () => void) => void = setImmediate,
): [MemoryDevice, MemoryDevice] {
  const left = new MemoryDevice('left', traits, soon);
  const right = new MemoryDevice('right', traits, soon);
  left.join(right);
  right.join(left);
  return [left, right];
}

interface Slot {
  bytes: Uint8Array;
  length: number;
  segmentSize: number;
  isPartial: boolean;
}

/** One of two joined devices. Its memory is used again, so that what a stack keeps of it shows as an error. */
export class MemoryDevice implements PacketDevice, PacketOutput {
  readonly name: string;
  traits: DeviceTraits;
  readonly output: PacketOutput = this;
  readonly closed: Promise<Error | undefined>;
  buffer: Uint8Array = new Uint8Array(0);
  dropped = 0;
  /** Packets on their way to the other side, oldest first. */
  readonly #queue: Slot[] = [];
  readonly #free: Slot[] = [];
  readonly #soon: (task: () => void) => void;
  readonly #resolveClosed: (cause: Error | undefined) => void;
  readonly #inbound: { -readonly [key in keyof InboundPacket]: InboundPacket[key] } = {
    buffer: new Uint8Array(0),
    start: 0,
    end: 0,
    checksumVouched: false,
    segmentSize: 0,
  };
  #peer: MemoryDevice | undefined;
  #handlers: DeviceHandlers | undefined;
  #current: Slot | undefined;
  #isScheduled = false;
  #isBlocked = false;
  #isClosed = false;

  constructor(name: string, traits: DeviceTraits, soon: (task: () => void) => void) {
    this.name = name;
    this.traits = traits;
    this.#soon = soon;
    const { promise, resolve } = Promise.withResolvers<Error | undefined>();
    this.closed = promise;
    this.#resolveClosed = resolve;
  }

  join(peer: MemoryDevice): void {
    this.#peer = peer;
  }

  start(handlers: DeviceHandlers): void {
    this.#handlers = handlers;
  }

  /** Another MTU, as of an interface that was configured anew. */
  change(traits: DeviceTraits): void {
    this.traits = traits;
    this.#handlers?.onTraits();
  }

  /** The path delivers again. */
  restore(): void {
    this.#handlers?.onPathRestored();
  }

  reserve(bytes: number): number {
    if (this.#isClosed || bytes > LARGEST) return -1;
    if (this.#queue.length >= QUEUE) {
      this.#isBlocked = true;
      return -1;
    }
    this.#current ??= this.#free.pop() ?? {
      bytes: new Uint8Array(LARGEST),
      length: 0,
      segmentSize: 0,
      isPartial: false,
    };
    this.buffer = this.#current.bytes;
    return 0;
  }

  commit(length: number, segmentSize: number, checksumStart: number): void {
    const slot = this.#current;
    if (slot === undefined) throw new Error('nothing was reserved');
    if (segmentSize === 0 && length > this.traits.mtu) throw new Error(`${length} bytes at once`);
    this.#current = undefined;
    slot.length = length;
    slot.segmentSize = segmentSize;
    slot.isPartial = checksumStart >= 0;
    this.#queue.push(slot);
  }

  flush(): void {
    if (this.#queue.length === 0 || this.#isScheduled) return;
    this.#isScheduled = true;
    this.#soon(this.#deliver);
  }

  close(cause?: Error): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#handlers = undefined;
    // What was committed still arrives.
    this.flush();
    this.#resolveClosed(cause);
  }

  readonly #deliver = (): void => {
    this.#isScheduled = false;
    const inbound = this.#inbound;
    for (const slot of this.#queue.splice(0)) {
      const handlers = this.#peerHandlers();
      inbound.buffer = slot.bytes;
      inbound.end = slot.length;
      inbound.checksumVouched = slot.isPartial;
      inbound.segmentSize = slot.segmentSize;
      handlers?.onPacket(inbound);
      slot.bytes.fill(0xdb, 0, slot.length);
      this.#free.push(slot);
    }
    this.#peerHandlers()?.onDrained();
    if (!this.#isBlocked) return;
    this.#isBlocked = false;
    this.#handlers?.onWritable();
  };

  #peerHandlers(): DeviceHandlers | undefined {
    const peer = this.#peer;
    return peer === undefined ? undefined : peer.#handlers;
  }
}
