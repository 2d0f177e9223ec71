import assert from 'node:assert/strict';
import { Cubic } from '../../../../src/congestion/cubic.ts';
import { SendControl } from '../../../../src/congestion/send-control.ts';
import { ReceiveBuffer } from '../../../../src/netstack/tcp/receive/receive-buffer.ts';
import { Recovery } from '../../../../src/netstack/tcp/recovery/recovery.ts';
import { SendBuffer } from '../../../../src/netstack/tcp/send-buffer.ts';
import { SeededRandom } from '../../simnet/seeded-random.ts';

export interface PathOptions {
  readonly sack: boolean;
  readonly timestamps: boolean;
  readonly paced: boolean;
  /** Payload of a segment at most: more than the MSS with offload, which the path takes apart. */
  readonly largest: number;
  /** Bytes per millisecond, and bytes that may wait. */
  readonly rate: number;
  readonly queue: number;
  readonly delay: number;
  readonly loss: number;
  /** The share of packets that is late by up to `lateness`, or delivered twice. */
  readonly late: number;
  readonly lateness: number;
  readonly duplication: number;
  readonly ackLoss: number;
}

export const PLAIN_PATH: PathOptions = {
  sack: true,
  timestamps: true,
  paced: false,
  largest: 1000,
  rate: 1000,
  queue: 100_000,
  delay: 10,
  loss: 0,
  late: 0,
  lateness: 0,
  duplication: 0,
  ackLoss: 0,
};

export const MSS = 1000;
const MAX_ACK_DELAY = 40;

interface Packet {
  readonly at: number;
  readonly order: number;
  deliver(now: number): void;
}

/** One direction of TCP without its state machine: recovery and buffers over a simulated path. */
export class Transfer {
  readonly control = new SendControl(new Cubic(MSS), MSS);
  readonly recovery: Recovery;
  readonly out = new SendBuffer();
  readonly in = new ReceiveBuffer(0);
  now = 1000;
  /** Data segments that left, and bytes of them that were sent before. */
  segments = 0;
  repeated = 0;
  timeouts = 0;
  /** Packets, counted from 0, that the path drops; in addition to those of chance. */
  drops = new Set<number>();
  #packets = 0;
  #idleSteps = 0;
  readonly #options: PathOptions;
  readonly #random: SeededRandom;
  readonly #heap: Packet[] = [];
  #order = 0;
  #linkFreeAt = 0;
  #edge: number;
  #checked = 0;
  /** The receiver: segments that are not acknowledged yet, and the timestamp to echo. */
  #unacknowledged = 0;
  #ackAt = Infinity;
  #echo = -1;
  #lastAckOffset = 0;
  #lastAckSent = 0;
  readonly #ack = {
    offset: 0,
    blocks: new Float64Array(8),
    blockCount: 0,
    echo: -1,
    isDuplicate: false,
  };

  constructor(options: Partial<PathOptions>, seed = 1) {
    this.#options = { ...PLAIN_PATH, ...options };
    this.#random = new SeededRandom(seed);
    this.recovery = new Recovery(this.control, MSS, this.#options.paced);
    this.recovery.start(this.#options.sack, MSS);
    this.recovery.onHandshake(2 * this.#options.delay, this.now);
    this.#edge = this.in.announce(MSS, 7) * 128;
  }

  write(size: number): void {
    const chunk = new Uint8Array(size);
    for (let i = 0; i < size; i++) chunk[i] = byteAt(this.out.end + i);
    this.out.write(chunk);
  }

  /** Runs until everything is acknowledged; fails after so much virtual time. */
  finish(limit = 120_000): void {
    const end = this.now + limit;
    this.send();
    while (this.recovery.sndUna < this.out.end) {
      assert.ok(this.step(), `stalled at ${this.recovery.sndUna} of ${this.out.end}`);
      assert.ok(this.now < end, `not done after ${limit} ms: ${this.recovery.sndUna}`);
    }
  }

  /** Lets time pass, with everything that happens in it. */
  run(milliseconds: number): void {
    const end = this.now + milliseconds;
    this.send();
    while (this.nextAt() <= end) this.step();
    this.now = end;
  }

  nextAt(): number {
    return Math.min(this.#heap[0]?.at ?? Infinity, this.recovery.timeout, this.#ackAt);
  }

  step(): boolean {
    const at = this.nextAt();
    if (at === Infinity) return false;
    this.#idleSteps = at > this.now ? 0 : this.#idleSteps + 1;
    assert.ok(this.#idleSteps < 10_000, 'the deadline does not move');
    this.now = Math.max(this.now, at);
    const packet = this.#heap[0];
    if (packet && packet.at <= this.now) {
      this.#heap.shift();
      packet.deliver(this.now);
    } else if (this.#ackAt <= this.now) this.#acknowledge(false);
    else if (this.recovery.timeout <= this.now) {
      const before = this.recovery.timeouts;
      this.recovery.onTimeout(this.now);
      if (this.recovery.timeouts > before) this.timeouts++;
    }
    this.send();
    this.check();
    return true;
  }

  send(): void {
    const { recovery, out, now } = this;
    for (let guard = 0; recovery.plan(now, out.end, this.#edge, this.#options.largest); guard++) {
      assert.ok(guard < 10_000, 'plan never ends');
      const { start, end, isRetransmission } = recovery.planned;
      assert.ok(start < end && end <= out.end);
      assert.ok(isRetransmission ? end <= recovery.sndNxt : start === recovery.sndNxt);
      assert.ok(end - start <= Math.max(this.#options.largest, MSS));
      const bytes = new Uint8Array(end - start);
      out.copy(start, end - start, bytes, 0);
      recovery.onSent(now);
      if (isRetransmission) this.repeated += end - start;
      for (let at = 0; at < bytes.length; at += MSS) {
        this.#sendPacket(start + at, bytes.subarray(at, Math.min(at + MSS, bytes.length)));
      }
    }
  }

  check(): void {
    const { recovery, control } = this;
    assert.ok(control.inFlight >= 0);
    assert.ok(control.inFlight <= recovery.sndNxt - recovery.sndUna);
    assert.ok(recovery.sndUna <= this.in.received);
    if (recovery.sndUna < recovery.sndNxt) assert.notEqual(recovery.timeout, Infinity);
  }

  #sendPacket(offset: number, bytes: Uint8Array): void {
    this.segments++;
    const options = this.#options;
    const sentAt = Math.floor(this.now);
    if (this.drops.has(this.#packets++) || this.#random.chance(options.loss)) return;
    const start = Math.max(this.#linkFreeAt, this.now);
    if ((start - this.now) * options.rate > options.queue) return;
    this.#linkFreeAt = start + bytes.length / options.rate;
    const copies = this.#random.chance(options.duplication) ? 2 : 1;
    for (let i = 0; i < copies; i++) {
      const late = this.#random.chance(options.late)
        ? this.#random.fraction() * options.lateness
        : 0;
      this.#schedule(this.#linkFreeAt + options.delay + late, () =>
        this.#arrive(offset, bytes, sentAt),
      );
    }
  }

  #arrive(offset: number, bytes: Uint8Array, sentAt: number): void {
    const expected = this.in.received;
    // RFC 7323 §4.3: the timestamp of the segment that the next acknowledgement will move on.
    if (offset <= this.#lastAckSent && sentAt >= this.#echo) this.#echo = sentAt;
    const arrival = this.in.insert(offset, bytes, 0, bytes.length);
    for (let chunk = this.in.take(this.now); chunk; chunk = this.in.take(this.now)) {
      for (const byte of chunk) assert.equal(byte, byteAt(this.#checked++));
    }
    this.#unacknowledged += this.in.received - expected;
    const isDelayed = arrival === 'in-order' && this.#unacknowledged < 2 * MSS;
    if (!isDelayed) this.#acknowledge(arrival !== 'in-order');
    else if (this.#ackAt === Infinity) this.#ackAt = this.now + MAX_ACK_DELAY;
  }

  #acknowledge(isAtOnce: boolean): void {
    this.#ackAt = Infinity;
    this.#unacknowledged = 0;
    const offset = this.in.received;
    const edge = offset + this.in.announce(MSS, 7) * 128;
    const blocks = new Float64Array(8);
    const count = this.#options.sack ? this.in.report(blocks, this.#options.timestamps ? 3 : 4) : 0;
    const echo = this.#options.timestamps ? this.#echo : -1;
    this.#lastAckSent = offset;
    if (this.#random.chance(this.#options.ackLoss)) return;
    this.#schedule(this.now + this.#options.delay, (now) => {
      const ack = this.#ack;
      ack.offset = offset;
      ack.blocks.set(blocks);
      ack.blockCount = count;
      ack.echo = echo;
      ack.isDuplicate = isAtOnce && offset === this.#lastAckOffset && edge <= this.#edge;
      this.#lastAckOffset = Math.max(this.#lastAckOffset, offset);
      this.#edge = Math.max(this.#edge, edge);
      assert.ok(this.recovery.onAck(ack, now));
      this.out.acknowledge(this.recovery.sndUna);
    });
  }

  #schedule(at: number, deliver: (now: number) => void): void {
    const order = this.#order++;
    const heap = this.#heap;
    let place = heap.length;
    while (place > 0 && (heap[place - 1] as Packet).at > at) place--; // below the length
    heap.splice(place, 0, { at, order, deliver });
  }
}

const byteAt = (offset: number): number => (offset * 31 + (offset >>> 10) * 7) & 255;
