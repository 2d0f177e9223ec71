import assert from 'node:assert/strict';
import type { ConnectionOptions, Http2Settings } from '@weir/http/http2';
import { Flag, FrameType, PREFACE } from '../../../packages/http/src/http2/frames.ts';
import { FRAME_LIMIT } from '../../../packages/http/src/limits.ts';
import type { HttpField } from '@weir/http/fields';
import { Core, REQUEST, type StreamLog } from './core.ts';
import { parseFrames, type ParsedFrame } from './raw-frames.ts';

export type Side = 'client' | 'server';
export const SIDES: readonly Side[] = ['client', 'server'];
const otherSide = (side: Side): Side => (side === 'client' ? 'server' : 'client');

const { DATA, HEADERS, RST_STREAM, SETTINGS, GOAWAY, WINDOW_UPDATE, CONTINUATION } = FrameType;
const INITIAL_WINDOW = 65_535;
const MAX_CONCURRENT_STREAMS = 3;
const INITIAL_WINDOW_SIZE = 4;

/** Bytes that differ by side, stream and place. */
const CONTENT = Buffer.from(
  Uint8Array.from({ length: 1 << 20 }, (_, at) => Math.imul(at, 0x9e37_79b1) >>> 13),
);
const contentOf = (side: Side, id: number, from: number, size: number): Buffer => {
  const start = id * 1009 + (side === 'client' ? 0 : 500) + from;
  return CONTENT.subarray(start, start + size);
};

/** Cuts a stream of bytes into frames, the preface left out. */
class Tap {
  #rest: Buffer = Buffer.alloc(0);
  #preface: number;

  constructor(hasPreface: boolean) {
    this.#preface = hasPreface ? PREFACE.length : 0;
  }

  push(bytes: Uint8Array): ParsedFrame[] {
    const skipped = Math.min(this.#preface, bytes.length);
    this.#preface -= skipped;
    this.#rest = Buffer.concat([this.#rest, bytes.subarray(skipped)]);
    let end = 0;
    while (end + 9 <= this.#rest.length) {
      const next = end + 9 + this.#rest.readUIntBE(end, 3);
      if (next > this.#rest.length) break;
      end = next;
    }
    const frames = parseFrames(this.#rest.subarray(0, end));
    this.#rest = this.#rest.subarray(end);
    return frames;
  }
}

/** What a side has been told by frames that arrived, and what it has sent. */
interface Known {
  readonly sent: Tap;
  readonly arrived: Tap;
  initialWindow: number;
  connectionWindow: number;
  /** Window updates less DATA, by stream. */
  readonly credits: Map<number, number>;
  maxStreams: number;
  lastId: number;
  hasGoneAway: boolean;
  /** Streams whose end this side has sent, and those whose end has arrived; those that either side has reset. */
  readonly ended: Set<number>;
  readonly heardEnd: Set<number>;
  readonly reset: Set<number>;
  readonly open: Set<number>;
  /** The stream of HEADERS that are to be continued. */
  block: number;
  largestWindow: number;
  /** Calls of `onOutput` so far. */
  outputs: number;
}

/**
 * A client and a server over a link whose bytes arrive in pieces of any size. Every frame that either sends
 * is checked against what it has been told: windows, stream limit, states of streams, frame size. Data that
 * is read is that which was written.
 */
export class Http2Pair {
  readonly client: Core;
  readonly server: Core;
  /** Bytes on their way to each side. */
  readonly waiting: Record<Side, Buffer> = { client: Buffer.alloc(0), server: Buffer.alloc(0) };
  /** The streams that the client has opened, in order. */
  readonly calls: StreamLog[] = [];
  /** Bytes written, by side and stream. */
  readonly written = new Map<string, number>();
  readonly #known: Readonly<Record<Side, Known>>;
  readonly #blocked = new Set<Side>();

  constructor(client: Partial<ConnectionOptions> = {}, server: Partial<ConnectionOptions> = {}) {
    const known = (side: Side): Known => ({
      sent: new Tap(side === 'client'),
      arrived: new Tap(side === 'server'),
      initialWindow: INITIAL_WINDOW,
      connectionWindow: INITIAL_WINDOW,
      credits: new Map(),
      maxStreams: Infinity,
      lastId: 0,
      hasGoneAway: false,
      ended: new Set(),
      heardEnd: new Set(),
      reset: new Set(),
      open: new Set(),
      block: 0,
      largestWindow: INITIAL_WINDOW,
      outputs: 0,
    });
    this.#known = { client: known('client'), server: known('server') };
    this.client = new Core({ ...client, role: 'client' });
    this.server = new Core({ ...server, role: 'server' });
    this.server.rests = true;
    this.settle();
    this.deliver();
  }

  logOf(side: Side, id: number): StreamLog | undefined {
    return this.#logsOf(side).find(({ stream }) => stream.id === id);
  }

  #logsOf = (side: Side): readonly StreamLog[] =>
    side === 'client' ? this.calls : this.server.requests;

  // ---- the users ----

  open(fields: readonly HttpField[] = REQUEST, isLast = false): StreamLog | undefined {
    const { connection } = this.client;
    if (!connection.mayRequest) return undefined;
    const log = this.client.request(fields, isLast, true);
    this.calls.push(log);
    this.settle();
    return log;
  }

  /** @returns what the writer is told. */
  write(side: Side, log: StreamLog, size: number): boolean | undefined {
    const { id } = log.stream;
    const key = `${side} ${id}`;
    const before = this.written.get(key) ?? 0;
    const isTaken = log.stream.isWritable;
    const more = log.write(contentOf(side, id, before, size));
    if (isTaken) this.written.set(key, before + size);
    assert.equal(more === undefined, !isTaken);
    this.settle();
    return more;
  }

  read(side: Side, log: StreamLog, limit = Infinity): void {
    const from = log.data.length;
    log.read(limit);
    const fresh = log.data.subarray(from);
    assert.ok(contentOf(otherSide(side), log.stream.id, from, fresh.length).equals(fresh));
    this.settle();
  }

  change(side: Side, settings: Http2Settings, onAck: () => void): boolean {
    const done = this[side].connection.changeSettings(settings, onAck);
    const known = this.#known[side];
    if (done) {
      known.largestWindow = Math.max(known.largestWindow, settings.initialWindowSize ?? 0);
    }
    this.settle();
    return done;
  }

  // ---- the link ----

  /** Takes what both have to send, and checks it. */
  settle(): void {
    for (const side of SIDES) {
      const bytes = this[side].send();
      const known = this.#known[side];
      const { outputs } = this[side];
      assert.ok(bytes.length === 0 || outputs > known.outputs, 'output that was not reported');
      known.outputs = outputs;
      for (const frame of known.sent.push(bytes)) this.#checkSent(side, known, frame);
      const to = otherSide(side);
      this.waiting[to] = Buffer.concat([this.waiting[to], bytes]);
      assert.ok(!this[side].isEnded, `the ${side} ends with ${this[side].errorName}`);
    }
    for (const side of SIDES) {
      const logs = this.#logsOf(side);
      const { initialWindow, connectionWindow, credits, largestWindow } = this.#known[side];
      for (const { stream } of logs) {
        // The window is opened in the middle of a frame as if the rest of it had been read.
        assert.ok(stream.readable <= largestWindow + FRAME_LIMIT, 'more than the window');
        const window = Math.min(connectionWindow, initialWindow + (credits.get(stream.id) ?? 0));
        const mayWait = window <= 0 || this.#blocked.has(side);
        assert.ok(stream.queued === 0 || mayWait, 'nothing holds it back, and it waits');
      }
    }
  }

  /** Whether the link takes no more of a side. */
  block(side: Side, isBlocked: boolean): void {
    if (isBlocked) this.#blocked.add(side);
    else this.#blocked.delete(side);
    this[side].connection.isBlocked = isBlocked;
    this.settle();
  }

  /** So many bytes reach a side. */
  step(to: Side, bytes: number): void {
    const waiting = this.waiting[to];
    const chunk = Buffer.from(waiting.subarray(0, bytes));
    this.waiting[to] = waiting.subarray(bytes);
    const known = this.#known[to];
    if (chunk.length === 0) return;
    const frames = known.arrived.push(chunk);
    for (const frame of frames) this.#arrive(known, frame);
    const called = new Map(this.#logsOf(to).map((log) => [log, log.readable]));
    this[to].receive(chunk);
    for (const { type, flags, streamId, payload } of frames) {
      const log = this.logOf(to, streamId);
      const isNews = type === DATA && payload.length > 0;
      if (!log || log.end || log.stream.isClosed || !(isNews || (flags & Flag.END_STREAM) !== 0)) {
        continue;
      }
      const isHead = type === HEADERS || type === DATA;
      if (isHead) assert.ok(log.readable > (called.get(log) ?? 0), 'a reader that is not called');
    }
    // Nothing of a chunk is kept but by copies.
    chunk.fill(0xee);
    this.settle();
    // Afterwards, because frames before them in the chunk may have had a response.
    for (const frame of frames) this.#arriveEnd(to, known, frame);
  }

  /** Everything arrives, and what is sent in response. */
  deliver(): void {
    while (SIDES.some((side) => this.waiting[side].length > 0)) {
      for (const side of SIDES) this.step(side, this.waiting[side].length);
    }
  }

  // ---- what must hold ----

  #arrive(known: Known, { type, flags, streamId, payload }: ParsedFrame): void {
    if (type === SETTINGS && (flags & Flag.ACK) === 0) {
      for (let at = 0; at < payload.length; at += 6) {
        const value = payload.readUInt32BE(at + 2);
        const id = payload.readUInt16BE(at);
        if (id === MAX_CONCURRENT_STREAMS) known.maxStreams = value;
        if (id === INITIAL_WINDOW_SIZE) known.initialWindow = value;
      }
    } else if (type === WINDOW_UPDATE) {
      const increment = payload.readUInt32BE();
      if (streamId === 0) known.connectionWindow += increment;
      else known.credits.set(streamId, (known.credits.get(streamId) ?? 0) + increment);
    }
  }

  #arriveEnd(to: Side, known: Known, { type, flags, streamId, payload }: ParsedFrame): void {
    if ((type === DATA || type === HEADERS) && (flags & Flag.END_STREAM) !== 0) {
      known.heardEnd.add(streamId);
      if (known.ended.has(streamId)) known.open.delete(streamId);
    }
    if (type === RST_STREAM) {
      known.reset.add(streamId);
      known.open.delete(streamId);
    } else if (type === GOAWAY) {
      known.hasGoneAway = true;
      const last = payload.readUInt32BE();
      for (const id of known.open) {
        if (to !== 'client' || id <= last) continue;
        known.open.delete(id);
        known.reset.add(id);
      }
    }
  }

  #checkSent(side: Side, known: Known, { type, flags, streamId, payload }: ParsedFrame): void {
    const { length } = payload;
    assert.ok(length <= FRAME_LIMIT, 'a frame that is too long');
    const expected = known.block === 0 ? type !== CONTINUATION : type === CONTINUATION;
    assert.ok(expected && (known.block === 0 || streamId === known.block), 'a header block');
    if (type === HEADERS || type === CONTINUATION) {
      known.block = (flags & Flag.END_HEADERS) === 0 ? streamId : 0;
    }
    if (type === RST_STREAM) {
      assert.ok(!known.reset.has(streamId), 'a second reset');
      known.reset.add(streamId);
      known.open.delete(streamId);
      return;
    }
    if (type === WINDOW_UPDATE) {
      assert.ok(payload.readUInt32BE() > 0);
      const isUseful = !known.heardEnd.has(streamId) && !known.reset.has(streamId);
      assert.ok(streamId === 0 || isUseful, 'a window of nothing');
      return;
    }
    if (type !== HEADERS && type !== DATA) return;
    assert.ok(!known.ended.has(streamId) && !known.reset.has(streamId), 'behind its end');
    if (type === HEADERS && side === 'client' && streamId > known.lastId) {
      assert.ok(streamId % 2 === 1 && !known.hasGoneAway);
      known.lastId = streamId;
      known.open.add(streamId);
      assert.ok(known.open.size <= known.maxStreams, `${known.open.size} streams`);
    }
    if (type === DATA && length > 0) {
      known.connectionWindow -= length;
      const credit = (known.credits.get(streamId) ?? 0) - length;
      known.credits.set(streamId, credit);
      assert.ok(known.connectionWindow >= 0, 'the window of the connection');
      assert.ok(known.initialWindow + credit >= 0, 'the window of the stream');
    }
    if ((flags & Flag.END_STREAM) !== 0) {
      known.ended.add(streamId);
      if (known.heardEnd.has(streamId)) known.open.delete(streamId);
    }
  }
}
