import assert from 'node:assert/strict';
import { type Ecn, copyEndpoint, type IpEndpoint } from '@weir/base/ip';
import type { ConnectionEvent } from '../../../packages/quic/src/connection/lifecycle.ts';
import type {
  QuicCore,
  IdIssuer,
  RegisteredId,
} from '../../../packages/quic/src/connection/quic-core.ts';
import type { TraceEvent } from '../../../packages/quic/src/trace.ts';
import { TransmitBatch } from '@weir/io/datagrams';
import type { SeededRandom } from '../simnet/seeded-random.ts';

/** A datagram on its way. */
export interface SentDatagram {
  readonly data: Uint8Array;
  readonly from: IpEndpoint;
  readonly to: IpEndpoint;
  readonly ecn: Ecn;
}

/** The ids of one endpoint in a test: 8 random bytes, and which of them are in use. */
export class TestIds implements IdIssuer {
  readonly live = new Set<string>();
  readonly #random: SeededRandom;
  readonly #size: number;

  constructor(random: SeededRandom, size = 8) {
    this.#random = random;
    this.#size = size;
  }

  issue(): RegisteredId {
    const id = this.#random.bytes(this.#size);
    this.live.add(id.toString('hex'));
    return { id, resetToken: this.#random.bytes(16) };
  }

  release(id: Uint8Array): void {
    this.live.delete(Buffer.from(id).toString('hex'));
  }
}

/** What was received on a stream, and how it ended. */
export interface StreamLog {
  bytes: number;
  readonly chunks: Uint8Array[];
  end: 'open' | 'finished' | 'reset';
}

const batch = new TransmitBatch();

/** What the memory of a received datagram holds after the call. */
const SPENT = 0xee;

/** One connection with what a driver does for it: datagrams out, events, what streams have received. */
export class Peer {
  readonly connection: QuicCore;
  readonly address: IpEndpoint;
  readonly events: ConnectionEvent[] = [];
  readonly trace: readonly TraceEvent[];
  readonly streams = new Map<number, StreamLog>();
  readonly datagrams: Uint8Array[] = [];
  /** Whether received data is read at once; else with `read`. */
  reads = true;
  /** Is told of every event. */
  onEvent: ((event: ConnectionEvent) => void) | undefined;
  /** Whether chunks are kept, or only counted. */
  keeps = true;
  /** Bytes to write as the stream takes them, by id. */
  readonly #sources = new Map<number, { left: number; chunk: Uint8Array; finish: boolean }>();

  constructor(connection: QuicCore, address: IpEndpoint, trace: readonly TraceEvent[]) {
    this.connection = connection;
    this.address = address;
    this.trace = trace;
  }

  /** Everything that may leave now. */
  flush(now: number): SentDatagram[] {
    const sent: SentDatagram[] = [];
    for (let round = 0; ; round++) {
      assert.ok(round < 10_000, 'transmit never comes to an end');
      this.#handleEvents();
      if (!this.connection.transmit(now, batch)) break;
      const { length, segmentSize, destination, ecn, buffer } = batch;
      assert.ok(length > 0);
      const stride = segmentSize || length;
      for (let at = 0; at < length; at += stride) {
        sent.push({
          data: Uint8Array.from(buffer.subarray(at, Math.min(at + stride, length))),
          from: this.address,
          to: copyEndpoint(destination),
          ecn,
        });
      }
    }
    return sent;
  }

  /** Datagrams of one size behind each other, as a kernel with GRO gives them. */
  receiveBatch(datagrams: readonly SentDatagram[], now: number): void {
    const [first] = datagrams;
    assert.ok(first);
    const bytes = Buffer.concat(datagrams.map(({ data }) => data));
    const size = bytes.length;
    const { data, from, to, ecn } = first;
    this.connection.receiveBatch(bytes, 0, size, data.length, from, to, ecn, now);
    bytes.fill(SPENT);
    this.#handleEvents();
  }

  receive({ data, from, to, ecn }: SentDatagram, now: number): void {
    // A copy, because it is decrypted in place and a test may deliver it again; a Buffer, because its
    // `slice` copies nothing, and a part of it that is kept would change with the next datagram.
    const bytes = Buffer.from(data);
    this.connection.receiveBatch(bytes, 0, bytes.length, bytes.length, from, to, ecn, now);
    bytes.fill(SPENT);
    this.#handleEvents();
  }

  /** Writes `bytes` of a pattern on a stream as fast as it takes them, and finishes it. */
  send(id: number, bytes: number, chunkSize = 16_384, finish = true): void {
    const chunk = pattern(chunkSize);
    this.#sources.set(id, { left: bytes, chunk, finish });
    this.#fill(id);
  }

  /** Reads what a stream has. */
  read(id: number): void {
    const log = this.#logOf(id);
    for (;;) {
      const chunk = this.connection.read(id);
      if (chunk === undefined) return;
      if (chunk === 'end') {
        log.end = 'finished';
        return;
      }
      if (this.keeps) log.chunks.push(chunk);
      log.bytes += chunk.length;
    }
  }

  received(id: number): Buffer {
    return Buffer.concat(this.streams.get(id)?.chunks ?? []);
  }

  has(kind: ConnectionEvent['kind']): boolean {
    return this.events.some((event) => event.kind === kind);
  }

  dropped(reason: string): number {
    return this.trace.filter((event) => event.kind === 'packet-dropped' && event.reason === reason)
      .length;
  }

  #handleEvents(): void {
    for (;;) {
      const event = this.connection.nextEvent();
      if (event === undefined) return;
      this.onEvent?.(event);
      if (event.kind === 'datagram') this.datagrams.push(event.data);
      else if (event.kind !== 'stream-readable' && event.kind !== 'stream-writable') {
        this.events.push(event);
      }
      if (event.kind === 'stream-opened') this.#logOf(event.id);
      if (event.kind === 'stream-reset') this.#logOf(event.id).end = 'reset';
      if (event.kind === 'stream-readable' && this.reads) this.read(event.id);
      if (event.kind === 'stream-opened' && this.reads) this.read(event.id);
      if (event.kind === 'stream-writable') this.#fill(event.id);
    }
  }

  #fill(id: number): void {
    const source = this.#sources.get(id);
    if (source === undefined) return;
    while (source.left > 0) {
      const size = Math.min(source.left, source.chunk.length);
      const mayContinue = this.connection.write(id, source.chunk.subarray(0, size));
      if (mayContinue === undefined) return;
      source.left -= size;
      if (!mayContinue) break;
    }
    if (source.left > 0) return;
    this.#sources.delete(id);
    if (source.finish) this.connection.finish(id);
  }

  #logOf(id: number): StreamLog {
    const known = this.streams.get(id);
    if (known !== undefined) return known;
    const log: StreamLog = { bytes: 0, chunks: [], end: 'open' };
    this.streams.set(id, log);
    return log;
  }
}

/** Bytes whose value says where they belong, as far as a byte can. */
export function pattern(size: number): Uint8Array {
  const bytes = new Uint8Array(size);
  for (let at = 0; at < size; at++) bytes[at] = (at * 31 + (at >> 8)) & 0xff;
  return bytes;
}
