import assert from 'node:assert/strict';
import { NewReno } from '../../../../src/congestion/new-reno.ts';
import { SendControl } from '../../../../src/congestion/send-control.ts';
import { Recovery } from '../../../../src/netstack/tcp/recovery/recovery.ts';
import type { TraceEvent } from '../../../../src/netstack/trace.ts';

export const MSS = 1000;

interface RigOptions {
  readonly sack?: boolean;
  /** A SYN was sent again; else the handshake took 100 ms. */
  readonly lostSyn?: boolean;
  readonly largest?: number;
  /** Segments that the congestion window has at first. */
  readonly window?: number;
}

interface AckOptions {
  /** SACK blocks in segments: from, and to (excluded). */
  readonly sack?: readonly (readonly [number, number])[];
  readonly echo?: number;
  readonly isDuplicate?: boolean;
}

/**
 * Recovery driven by hand, in virtual time and in segments of 1000 bytes: segment 0 has the offsets 0
 * up to 1000. What leaves is noted as "3", "3-5" (both included), and "again 3".
 */
export class RecoveryRig {
  readonly control = new SendControl(new NewReno(MSS), MSS);
  readonly traced: TraceEvent[] = [];
  readonly recovery = new Recovery(this.control, MSS, false, (event) => this.traced.push(event));
  now = 1000;
  /** The end of what was written, and of the peer's window, in segments. */
  written = 0;
  edge = 10_000;
  largest: number;

  constructor({ sack = true, lostSyn = false, largest = MSS, window = 10 }: RigOptions = {}) {
    this.largest = largest;
    this.recovery.start(sack, MSS);
    this.recovery.onHandshake(lostSyn ? undefined : 100, this.now);
    assert.equal(this.control.controller.window, 10 * MSS);
    if (window <= 10) return;
    // Slow start: each round doubles the window.
    for (let next = 0; this.control.controller.window < window * MSS; next = this.written) {
      this.send(this.control.controller.window / MSS);
      this.now += 100;
      for (let i = next + 1; i <= this.written; i++) this.ack(i);
    }
  }

  /** The congestion window, in segments. */
  get window(): number {
    return this.control.controller.window / MSS;
  }

  get inFlight(): number {
    return this.control.inFlight / MSS;
  }

  /** Writes so many segments more; returns what leaves. */
  send(segments = 0): string[] {
    this.written += segments;
    const left: string[] = [];
    const { recovery } = this;
    while (recovery.plan(this.now, this.written * MSS, this.edge * MSS, this.largest)) {
      const { start, end, isRetransmission } = recovery.planned;
      left.push(`${isRetransmission ? 'again ' : ''}${name(start, end)}`);
      recovery.onSent(this.now);
      assert.ok(left.length < 20_000);
    }
    return left;
  }

  /** An acknowledgement of all segments below one; returns what leaves then. */
  ack(segment: number, { sack = [], echo = -1, isDuplicate = false }: AckOptions = {}): string[] {
    const blocks = new Float64Array(8);
    for (const [i, [from, to]] of sack.slice(0, 4).entries()) {
      blocks[i * 2] = from * MSS;
      blocks[i * 2 + 1] = to * MSS;
    }
    const blockCount = Math.min(sack.length, 4);
    const ack = { offset: segment * MSS, blocks, blockCount, echo, isDuplicate };
    assert.equal(this.recovery.onAck(ack, this.now), true);
    return this.send();
  }

  /** Lets time pass up to the deadline; returns what leaves then. */
  expire(): string[] {
    assert.notEqual(this.recovery.timeout, Infinity);
    this.now = Math.max(this.now, this.recovery.timeout);
    this.recovery.onTimeout(this.now);
    return this.send();
  }

  /** Milliseconds until the deadline. */
  get wait(): number {
    return this.recovery.timeout - this.now;
  }
}

const name = (start: number, end: number): string => {
  const last = end / MSS - 1;
  return last <= start / MSS ? `${start / MSS}` : `${start / MSS}-${last}`;
};
