import assert from 'node:assert/strict';
import { MAX_RECEIVE_WINDOW, MAX_SEND_BUFFER } from '../../../../packages/netstack/src/limits.ts';
import type { TcpEvent } from '../../../../packages/netstack/src/tcp/state.ts';
import { type ConnectionChoices, Driven, PATH } from './tcp-rig.ts';
import type { Segment } from './segments.ts';

export type Side = 'client' | 'server';
export const SIDES: readonly Side[] = ['client', 'server'];
export const otherSide = (side: Side): Side => (side === 'client' ? 'server' : 'client');

/** What each side writes at most. */
const MOST_WRITTEN = 1 << 20;

/** Bytes that differ wherever a stream may be shifted, cut or repeated; of each side others. */
const CONTENT: Readonly<Record<Side, Buffer>> = {
  client: content(0x9e37_79b1),
  server: content(0x85eb_ca6b),
};

function content(factor: number): Buffer {
  return Buffer.from(
    Uint8Array.from({ length: MOST_WRITTEN }, (_, at) => Math.imul(at, factor) >>> 13),
  );
}

/** Options that something on the path removes from SYNs, and what the connections are created with. */
export interface PairChoices {
  readonly client?: ConnectionChoices;
  readonly server?: ConnectionChoices;
  readonly without?: readonly ('sack' | 'timestamps' | 'scale')[];
}

/** What one side has sent, as its peer and the path know it. */
interface Stream {
  initial: number;
  scale: number;
  mss: number;
  /** By the application; whether it ends there; and what the application of the peer has read. */
  written: number;
  isEnded: boolean;
  read: number;
  /** One for each byte that arrived, and how many of them come first; whether the FIN arrived. */
  readonly arrived: Uint8Array;
  prefix: number;
  hasFinArrived: boolean;
  /** The right edge of the peer's window that has arrived here, the one that was sent, and its last ACK. */
  edge: number;
  sentEdge: number;
  acknowledged: number;
}

/**
 * Two connections and what is on its way between them, driven by hand. Whatever either sends is checked
 * against what it has been told: bytes of the stream at their place, within the window and the MSS;
 * acknowledgments and SACK blocks of what has arrived alone; a right edge that does not move back; memory
 * within its bounds. What is read are the bytes that were written, in order.
 */
export class TcpPair {
  readonly client: Driven;
  readonly server: Driven;
  /** What was sent to each side and has not arrived. */
  readonly waiting: Readonly<Record<Side, Segment[]>> = { client: [], server: [] };
  /** What each side has reported, in order. */
  readonly events: Readonly<Record<Side, TcpEvent[]>> = { client: [], server: [] };
  now = 0;
  readonly #streams: Readonly<Record<Side, Stream>>;
  readonly #choices: PairChoices;

  /** The client is active, the server passive unless its choices say otherwise. */
  constructor(choices: PairChoices = {}) {
    this.#choices = choices;
    this.client = new Driven({ role: 'active', initialSequence: 0xffff_f000, ...choices.client });
    this.server = new Driven({ role: 'passive', initialSequence: 0x7fff_f000, ...choices.server });
    const stream = (initial = 0): Stream => ({
      initial,
      scale: 0,
      mss: 0,
      written: 0,
      isEnded: false,
      read: 0,
      arrived: new Uint8Array(MOST_WRITTEN),
      prefix: 0,
      hasFinArrived: false,
      edge: 0,
      sentEdge: 0,
      acknowledged: -1,
    });
    this.#streams = {
      client: stream(choices.client?.initialSequence ?? 0xffff_f000),
      server: stream(choices.server?.initialSequence ?? 0x7fff_f000),
    };
    this.settle();
  }

  get states(): string[] {
    return SIDES.map((side) => this[side].connection.state);
  }

  /** Bytes that a side has written, and those that its peer has read. */
  written = (side: Side): number => this.#streams[side].written;
  read = (side: Side): number => this.#streams[side].read;

  // ---- the applications ----

  /** @returns whether more may be written. */
  write(side: Side, size: number): boolean {
    const stream = this.#streams[side];
    const end = stream.written + size;
    const more = this[side].connection.write(
      Uint8Array.from(CONTENT[side].subarray(stream.written, end)),
    );
    if (!stream.isEnded && this[side].connection.state !== 'CLOSED') stream.written = end;
    this.settle();
    return more;
  }

  close(side: Side): void {
    this.#streams[side].isEnded = true;
    this[side].connection.closeWrite();
    this.settle();
  }

  /** Reads what there is, up to so many chunks. */
  take(side: Side, chunks = Infinity): void {
    const { connection } = this[side];
    const from = otherSide(side);
    const stream = this.#streams[from];
    for (let count = 0; count < chunks; count++) {
      const chunk = connection.read(this.now);
      if (chunk === undefined) break;
      const end = stream.read + chunk.length;
      assert.ok(CONTENT[from].subarray(stream.read, end).equals(chunk), `at ${stream.read}`);
      stream.read = end;
      assert.ok(end <= stream.prefix, 'what has not arrived is read');
    }
    // A side that has aborted has dropped what it had not read.
    if (connection.isEnded && connection.failure !== 'aborted') {
      assert.ok(stream.isEnded && stream.read === stream.written);
    }
    this.settle();
  }

  // ---- the path ----

  /** Lets both sides send what they have to send. */
  settle(): void {
    for (const side of SIDES) {
      const driven = this[side];
      driven.settle();
      for (const segment of driven.out.take()) {
        const passed = this.#pass(segment);
        this.#checkSent(side, passed);
        this.waiting[otherSide(side)].push(passed);
      }
      this.#checkEvents(side);
      const { connection } = driven;
      assert.ok(connection.held <= MAX_SEND_BUFFER + 4 * MAX_RECEIVE_WINDOW, 'memory');
      assert.ok(connection.nextTimeout() > this.now, 'a deadline in the past');
    }
  }

  /** The next segment to a side arrives. False when there is none. */
  step(to: Side): boolean {
    const segment = this.waiting[to].shift();
    if (segment === undefined) return false;
    this.#arrive(to, segment);
    this[to].receive(segment);
    this.settle();
    return true;
  }

  /** Everything arrives, and what is sent in response, until it is quiet. */
  deliver(): void {
    this.settle();
    for (let steps = 0; this.step('server') || this.step('client'); steps++) {
      if (steps > 100_000) throw new Error('the two never stop');
    }
  }

  /** Time passes for both; what timeouts send stays on its way. */
  advance(ms: number): void {
    const until = this.now + ms;
    for (let calls = 0; this.nextTimeout() <= until; calls++) {
      if (calls > 10_000) throw new Error('a deadline that does not move on');
      this.#at(Math.max(this.now, this.nextTimeout()));
    }
    this.#at(until);
  }

  nextTimeout(): number {
    return Math.min(this.client.connection.nextTimeout(), this.server.connection.nextTimeout());
  }

  /** Lets everything happen that can: all arrives and is read, until both have nothing more to do. */
  finish(): void {
    for (let rounds = 0; ; rounds++) {
      if (rounds > 10_000) throw new Error(`no end: ${this.states.join(', ')}`);
      this.deliver();
      for (const side of SIDES) this.take(side);
      if (SIDES.some((side) => this.waiting[side].length > 0)) continue;
      if (this.nextTimeout() === Infinity) return;
      this.advance(this.nextTimeout() - this.now);
    }
  }

  #at(now: number): void {
    this.now = now;
    for (const side of SIDES) {
      this[side].now = now;
      this[side].connection.onTimeout(now);
    }
    this.settle();
  }

  #pass(segment: Segment): Segment {
    if (!segment.flags.includes('S')) return segment;
    const { sackPermitted, timestamp, timestampEcho, windowScale, ...rest } = segment;
    const { without = [] } = this.#choices;
    return {
      ...rest,
      ...(!without.includes('sack') && sackPermitted === true && { sackPermitted }),
      ...(!without.includes('scale') && windowScale !== undefined && { windowScale }),
      ...(!without.includes('timestamps') &&
        timestamp !== undefined && { timestamp, timestampEcho: timestampEcho ?? 0 }),
    };
  }

  // ---- what must hold ----

  #checkSent(side: Side, segment: Segment): void {
    const { flags, payload } = segment;
    const { length } = payload;
    const own = this.#streams[side];
    const back = this.#streams[otherSide(side)];
    if (flags.includes('S')) {
      assert.equal(segment.sequence, own.initial);
      assert.equal(length, 0);
      own.mss = segment.mss ?? 536;
      own.scale = segment.windowScale ?? 0;
      back.sentEdge = Math.max(back.sentEdge, segment.window);
      return;
    }
    if (flags.includes('R')) {
      assert.equal(length, 0);
      return;
    }
    const offset = (segment.sequence - own.initial - 1) | 0;
    const end = offset + length;
    assert.ok(end <= own.written + Number(length === 0 && own.isEnded), 'more than was written');
    assert.ok(CONTENT[side].subarray(Math.max(0, offset), end).equals(payload), 'other bytes');
    if (length > 0) assert.ok(end <= own.edge, `${end} is beyond the window ${own.edge}`);
    const path = this.#choices[side]?.path ?? PATH;
    assert.ok(length <= Math.max(path.largestPayload, Math.min(back.mss, path.segmentBytes)));
    if (flags.includes('F')) assert.ok(own.isEnded && end === own.written, 'an end too early');
    assert.ok(flags.includes('.'));
    const { without = [] } = this.#choices;
    assert.equal(segment.timestamp === undefined, without.includes('timestamps'));
    // Towards the peer: what arrived, each bound only growing.
    const acknowledged = (segment.acknowledgment - back.initial - 1) | 0;
    const isFinCounted = back.hasFinArrived && back.prefix === back.written;
    assert.ok(acknowledged <= back.prefix + Number(isFinCounted), 'it has not arrived');
    assert.ok(acknowledged >= back.acknowledged, 'an ACK that goes back');
    back.acknowledged = acknowledged;
    const edge = acknowledged + segment.window * 2 ** this.#scaleOf(side);
    // It may go back by what the scale rounds off, for data up to the edge before is still taken.
    const unit = 2 ** this.#scaleOf(side);
    assert.ok(edge > back.sentEdge - unit, `the right edge goes from ${back.sentEdge} to ${edge}`);
    back.sentEdge = Math.max(edge, back.sentEdge);
    const window = this.#choices[side]?.settings?.receiveBuffer ?? 65_535;
    assert.ok(edge - acknowledged <= window * (9 / 8) + unit, 'a larger window than is set');
    if (without.includes('sack')) assert.equal(segment.sack, undefined);
    for (const [left, right] of segment.sack ?? []) {
      const from = (left - back.initial - 1) | 0;
      const to = (right - back.initial - 1) | 0;
      assert.ok(from < to && !back.arrived.subarray(from, to).includes(0), 'a block of SACK');
    }
  }

  #scaleOf(side: Side): number {
    return this.#choices.without?.includes('scale') === true ? 0 : this.#streams[side].scale;
  }

  #arrive(to: Side, { flags, sequence, acknowledgment, window, payload }: Segment): void {
    const from = otherSide(to);
    const stream = this.#streams[from];
    const own = this.#streams[to];
    if (!flags.includes('S')) {
      const offset = (sequence - stream.initial - 1) | 0;
      if (payload.length > 0) stream.arrived.fill(1, offset, offset + payload.length);
      while (stream.arrived[stream.prefix] === 1) stream.prefix++;
      if (flags.includes('F')) stream.hasFinArrived = true;
      if (flags.includes('.')) {
        const acknowledged = (acknowledgment - own.initial - 1) | 0;
        own.edge = Math.max(own.edge, acknowledged + window * 2 ** this.#scaleOf(from));
      }
    } else own.edge = Math.max(own.edge, window);
  }

  #checkEvents(side: Side): void {
    const events = this.events[side];
    for (const event of this[side].takeEvents()) {
      assert.notEqual(events.at(-1), 'closed', `${event} follows the last event`);
      const isRepeatable = event === 'readable' || event === 'writable';
      assert.ok(isRepeatable || !events.includes(event), `${event} comes twice`);
      events.push(event);
    }
  }
}
