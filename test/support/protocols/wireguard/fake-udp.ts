import {
  type BindDatagrams,
  type DatagramHandlers,
  type DatagramSocket,
  type DatagramSocketOptions,
  type ReceivedDatagrams,
  type SendResult,
  type Transmit,
  copyEndpoint,
  isSameEndpoint,
  type IpEndpoint,
} from '@weir/base/ip';
import { endpoint } from './tunnel-pair.ts';

const FEATURES = {
  segmentation: true,
  coalescing: true,
  ownAddress: false,
  ecn: false,
  dontFragment: false,
  overflow: false,
};

/** Sockets of one host, whose datagrams arrive a turn of the event loop later. */
export class FakeUdp {
  readonly sockets: FakeSocket[] = [];
  /** Whether a datagram arrives; all when undefined. */
  passes: ((bytes: Uint8Array, from: IpEndpoint, to: IpEndpoint) => boolean) | undefined;
  /** That of the next socket. */
  nextPort = 1000;

  readonly bind: BindDatagrams = (_options: DatagramSocketOptions, handlers) => {
    const socket = new FakeSocket(this, endpoint('127.0.0.1', this.nextPort++), handlers);
    this.sockets.push(socket);
    return Promise.resolve(socket);
  };

  find(where: IpEndpoint): FakeSocket | undefined {
    return this.sockets.find(({ local, isClosed }) => !isClosed && isSameEndpoint(local, where));
  }
}

export class FakeSocket implements DatagramSocket {
  /** A test may give it another one: the host has moved. */
  local: IpEndpoint;
  readonly features = FEATURES;
  readonly dropped = 0;
  readonly overflowed = 0;
  readonly closed: Promise<Error | undefined>;
  /** The transmits that were sent: their lengths and segment sizes. */
  readonly sent: { readonly length: number; readonly segmentSize: number }[] = [];
  isClosed = false;
  /** Transmits that are still taken; the socket is full then. */
  room = Infinity;
  readonly handlers: DatagramHandlers;
  readonly #net: FakeUdp;
  readonly #resolve: (cause: Error | undefined) => void;
  #isScheduled = false;
  readonly #arriving: {
    readonly bytes: Buffer;
    readonly stride: number;
    readonly peer: IpEndpoint;
  }[] = [];

  constructor(net: FakeUdp, local: IpEndpoint, handlers: DatagramHandlers) {
    this.#net = net;
    this.local = local;
    this.handlers = handlers;
    const { promise, resolve } = Promise.withResolvers<Error | undefined>();
    this.closed = promise;
    this.#resolve = resolve;
  }

  send(transmits: readonly Transmit[], count = transmits.length): SendResult {
    let done = 0;
    while (done < count && this.room > 0) {
      const transmit = transmits[done++];
      if (transmit === undefined) break;
      this.room--;
      const { buffer, offset, length, segmentSize, destination } = transmit;
      this.sent.push({ length, segmentSize });
      const bytes = Buffer.from(buffer.subarray(offset, offset + length));
      if (this.#net.passes?.(bytes, this.local, destination) === false) continue;
      const stride = segmentSize === 0 ? length : segmentSize;
      this.#net.find(destination)?.arrive(bytes, stride, copyEndpoint(this.local));
    }
    return { done, sentBytes: 0, full: done < count, tooLarge: 0, firstTooLarge: -1 };
  }

  arrive(bytes: Buffer, stride: number, peer: IpEndpoint): void {
    this.#arriving.push({ bytes, stride, peer });
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      for (const { bytes, stride, peer } of this.#arriving.splice(0)) {
        if (this.isClosed) return;
        const received: ReceivedDatagrams = {
          peer,
          buffer: bytes,
          offset: 0,
          length: bytes.length,
          stride,
          own: undefined,
          ecn: 0,
        };
        this.handlers.onDatagrams(received);
        bytes.fill(0xdb);
      }
      if (!this.isClosed) this.handlers.onDrained?.();
    });
  }

  close(cause?: Error): void {
    if (this.isClosed) return;
    this.isClosed = true;
    this.#resolve(cause);
  }
}
