import type { RandomSource } from '@weir/base/random';
import {
  type BindDatagrams,
  type DatagramSocket,
  type ReceivedDatagrams,
  blankEndpoint,
  isIPv4Endpoint,
  MAPPED,
  isSameEndpoint,
  type IpEndpoint,
  type DeviceHandlers,
  type DeviceTraits,
  type InboundPacket,
  type PacketDevice,
  type PacketOutput,
} from '@weir/base/ip';
import { type Clock, TurnLoop } from '@weir/io/time';
import { LARGEST_PACKET, SMALLEST_MTU, SOCKET_BUFFER } from './limits.ts';
import type { StaticKeys } from './handshake/noise.ts';
import type { Trace, TunnelEvent, TunnelSettings, TunnelState, TunnelOutput } from './contract.ts';
import { Tunnel } from './tunnel.ts';
import { DataOffset, datagramSize } from './wire.ts';
import { MAX_BATCH_DATAGRAMS, BATCHED_BYTES, TransmitQueue } from '@weir/io/datagrams';

/**
 * Writes datagrams one after the other into batches, so that those of one size leave with one system call
 * (GSO).
 */
export class DatagramOutput implements TunnelOutput {
  readonly #queue: TransmitQueue;
  /** Number of datagrams in the current batch. */
  #count = 0;

  constructor(socket: DatagramSocket) {
    this.#queue = new TransmitQueue(socket);
  }

  get buffer(): Uint8Array {
    return this.#queue.current.buffer;
  }

  reserve(bytes: number): number {
    const queue = this.#queue;
    const { length, segmentSize, buffer } = queue.current;
    if (length > 0) {
      // The first datagram sets the size of a batch; only the last one may be shorter.
      const isComplete = length % segmentSize !== 0 || this.#count === MAX_BATCH_DATAGRAMS;
      if (isComplete || bytes > segmentSize || length + bytes > buffer.length) queue.push();
    }
    if (queue.isFull || bytes > buffer.length) return -1;
    return queue.current.length;
  }

  commit(length: number, destination: IpEndpoint): void {
    const queue = this.#queue;
    let batch = queue.current;
    if (batch.length > 0 && !isSameEndpoint(destination, batch.destination)) {
      const datagram = batch.buffer.subarray(batch.length, batch.length + length);
      queue.push();
      batch = queue.current;
      batch.buffer.set(datagram);
    }
    if (batch.length === 0) {
      batch.begin(destination, undefined);
      batch.segmentSize = length;
      this.#count = 0;
    }
    batch.length += length;
    this.#count++;
    // While nothing can be sent, a full batch is better than many small ones.
    if (!queue.isBlocked && queue.bytes + batch.length >= BATCHED_BYTES) queue.push();
  }

  /** Called when there is room in the socket again. */
  onWritable(): void {
    this.#queue.unblock();
    this.flush();
  }

  /** Sends the committed datagrams, as far as the socket accepts them. */
  flush(): void {
    const queue = this.#queue;
    if (queue.isBlocked) return;
    if (queue.current.length > 0) queue.push();
    queue.flush();
  }
}

export interface TunnelDeviceOptions {
  /** The name of the tunnel, for log lines and errors. */
  readonly name: string;
  readonly staticKeys: StaticKeys;
  /** The endpoint of the peer. */
  readonly endpoint: IpEndpoint;
  readonly settings: TunnelSettings;
  readonly clock: Clock;
  readonly random: RandomSource;
  readonly bind: BindDatagrams;
  /** Returns the time as TAI64N, as for `Tunnel`. */
  readonly timestamp: () => Uint8Array;
  /** Called for each event. Must not throw. */
  readonly onEvent?: ((event: TunnelEvent) => void) | undefined;
  readonly trace?: Trace | undefined;
}

/**
 * A tunnel on a UDP socket of its own, as a device for a TCP/IP stack. Packets are sealed and opened in place, in
 * the socket's memory; datagrams are sent and received in batches.
 */
export class TunnelDevice implements PacketDevice, PacketOutput {
  readonly name: string;
  readonly output: PacketOutput = this;
  readonly closed: Promise<Error | undefined>;
  readonly #socket: DatagramSocket;
  readonly #tunnel: Tunnel;
  readonly #datagrams: DatagramOutput;
  readonly #clock: Clock;
  readonly #turns: TurnLoop;
  readonly #onEvent: ((event: TunnelEvent) => void) | undefined;
  readonly #inbound: { -readonly [key in keyof InboundPacket]: InboundPacket[key] } = {
    buffer: new Uint8Array(0),
    start: 0,
    end: 0,
    checksumVouched: false,
    segmentSize: 0,
  };
  #traits: DeviceTraits;
  #handlers: DeviceHandlers | undefined;
  /** The offset of the datagram that `reserve` made room for. */
  #at = 0;
  /** Whether the last `reserve` had no room. */
  #isDenied = false;
  #isClosed = false;

  /** Opens the socket. Nothing is sent before the first packet or keep-alive. @throws the system's error. */
  static async open(options: TunnelDeviceOptions): Promise<TunnelDevice> {
    const local = blankEndpoint();
    if (isIPv4Endpoint(options.endpoint)) local.c = MAPPED;
    const opened: { device?: TunnelDevice } = {};
    const socket = await options.bind(
      { local, receiveBuffer: SOCKET_BUFFER, sendBuffer: SOCKET_BUFFER, coalesce: true },
      {
        onDatagrams: (received) => {
          const { device } = opened;
          if (device) device.#receive(received);
        },
        onDrained: () => {
          const { device } = opened;
          if (device) device.#onDrained();
        },
        onWritable: () => {
          const { device } = opened;
          if (device) device.#onWritable();
        },
      },
    );
    opened.device = new TunnelDevice(socket, options);
    return opened.device;
  }

  private constructor(socket: DatagramSocket, options: TunnelDeviceOptions) {
    const { clock, settings } = options;
    this.name = options.name;
    this.#socket = socket;
    this.#clock = clock;
    this.#onEvent = options.onEvent;
    this.#datagrams = new DatagramOutput(socket);
    this.#traits = traitsOf(settings);
    this.#tunnel = new Tunnel({
      ...options,
      settings: { ...settings, mtu: this.#traits.mtu },
      now: clock.now(),
    });
    this.#turns = new TurnLoop({
      clock,
      handlers: {
        turn: () => this.#turn(),
        // A full socket calls back when it has room.
        hasMore: () => false,
        nextTimeout: () => this.#tunnel.nextTimeout(),
        onTimeout: (now) => this.#tunnel.onTimeout(now),
      },
    });
    this.closed = socket.closed.then((cause) => {
      this.#release();
      return cause;
    });
    this.#turns.run();
  }

  get traits(): DeviceTraits {
    return this.#traits;
  }

  get dropped(): number {
    return this.#socket.dropped + this.#tunnel.dropped;
  }

  get state(): TunnelState {
    return this.#tunnel.state;
  }

  /** Time at which the last authentic message was received, by the clock; -Infinity for never. */
  get receivedAt(): number {
    return this.#tunnel.receivedAt;
  }

  /** Changes the settings while the tunnel runs. */
  set settings(settings: TunnelSettings) {
    this.#traits = traitsOf(settings);
    this.#tunnel.setSettings({ ...settings, mtu: this.#traits.mtu }, this.#clock.now());
    this.#handlers?.onTraits();
    this.#turns.run();
  }

  start(handlers: DeviceHandlers): void {
    this.#handlers = handlers;
  }

  /** Starts a new handshake if the peer has been silent since `since` and packets are unanswered. */
  retryHandshake(since: number): void {
    this.#tunnel.retryHandshake(since, this.#clock.now());
    this.#turns.run();
  }

  /** The peer's address; the object changes in place. */
  get endpoint(): IpEndpoint {
    return this.#tunnel.endpoint;
  }

  /** Sends to a new address of the same family from now on. */
  moveTo(endpoint: IpEndpoint): void {
    if (this.#isClosed) return;
    this.#tunnel.moveTo(endpoint, this.#clock.now());
    this.#turns.run();
  }

  get buffer(): Uint8Array {
    return this.#datagrams.buffer;
  }

  reserve(bytes: number): number {
    if (this.#isClosed) return -1;
    this.#at = this.#datagrams.reserve(datagramSize(bytes, this.#traits.mtu));
    if (this.#at >= 0) return this.#at + DataOffset.packet;
    this.#isDenied = true;
    return -1;
  }

  commit(length: number): void {
    const tunnel = this.#tunnel;
    const size = tunnel.send(this.#datagrams.buffer, this.#at, length, this.#clock.now());
    if (size > 0) this.#datagrams.commit(size, tunnel.endpoint);
  }

  flush(): void {
    this.#turns.run();
  }

  close(cause?: Error): void {
    if (this.#isClosed) return;
    this.#datagrams.flush();
    this.#release();
    this.#socket.close(cause);
  }

  // What the socket reports.

  #receive({ peer, buffer, offset, length, stride }: ReceivedDatagrams): void {
    const now = this.#clock.now();
    const inbound = this.#inbound;
    const end = offset + length;
    for (let start = offset; start < end && !this.#isClosed; start += stride) {
      const size = this.#tunnel.receive(buffer, start, Math.min(start + stride, end), peer, now);
      if (size === 0) continue;
      inbound.buffer = buffer;
      inbound.start = start + DataOffset.packet;
      inbound.end = inbound.start + size;
      this.#handlers?.onPacket(inbound);
    }
  }

  #onDrained(): void {
    // Packets that waited for a handshake which is now complete go first.
    this.#tunnel.transmit(this.#clock.now(), this.#datagrams);
    this.#handlers?.onDrained();
    this.#turns.run();
  }

  #onWritable(): void {
    if (this.#isClosed) return;
    this.#datagrams.onWritable();
    this.#turns.run();
    if (!this.#isDenied) return;
    this.#isDenied = false;
    this.#handlers?.onWritable();
  }

  /** Sends due messages, and reports events. */
  #turn(): void {
    this.#tunnel.transmit(this.#clock.now(), this.#datagrams);
    this.#datagrams.flush();
    for (let event = this.#tunnel.nextEvent(); event; event = this.#tunnel.nextEvent()) {
      if (event === 'restored') this.#handlers?.onPathRestored();
      this.#onEvent?.(event);
    }
  }

  #release(): void {
    this.#isClosed = true;
    this.#handlers = undefined;
    this.#turns.stop();
    this.#tunnel.close();
  }
}

function traitsOf({ mtu }: TunnelSettings): DeviceTraits {
  const bounded = Math.min(Math.max(mtu, SMALLEST_MTU), LARGEST_PACKET);
  return {
    mtu: bounded,
    checksumOffload: false,
    tcpSegmentation: false,
    udpSegmentation: false,
    largest: bounded,
  };
}
