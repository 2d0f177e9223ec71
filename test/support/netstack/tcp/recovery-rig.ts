import assert from 'node:assert/strict';
import { NewReno } from '../../../../packages/congestion/src/classic-window.ts';
import { SendControl } from '@weir/congestion';
import { Recovery } from '../../../../packages/netstack/src/tcp/recovery/recovery.ts';
import type { TraceEvent } from '../../../../packages/netstack/src/trace.ts';

export const MSS = 1000;

interface RigOptions {
  readonly sack?: boolean;
  /** A SYN was sent again; else the handshake took 100 ms. */
  readonly lostSyn?: boolean;
  readonly largest?: number | undefined;
  /** Segments that the congestion window has at first. */
  readonly window?: number | undefined;
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

/*
 * Recovery as a script, in segments that are counted behind those of a slow start. One step a line, or between `|`:
 *
 *     with nosack lostsyn largest=64 window=20     options, as the first step
 *     send 20 | queue 5                            writes segments; `queue`: they are not sent yet
 *     +100 | early 24                              milliseconds pass; `early`: a timeout so long from now does nothing
 *     ack 3 sack 5-9,12-13 echo -100 dup           all below 3; of blocks the end is excluded; the echo is relative to now
 *     expire                                       the next deadline comes
 *     mss 500                                      of the path, and of what is sent
 *     > 10 11 again 0 | > again 0 ... | > nothing  what the step before has let leave: all of it, or its beginning
 *     window 10 | flight 3 | wait 200 | timeouts 1 | held 3     a value; also `window < 10` and `>`, `<=`, `>=`
 *     mark                                         remembers the window: `window < mark`
 *     idle                                         nothing is in flight, and there is no deadline
 */
export function runRecovery(text: string): RecoveryRig {
  const steps = text
    .split(/[\n|]/)
    .map((step) => step.trim())
    .filter((step) => step !== '');
  const options = (steps[0]?.startsWith('with ') === true ? steps.shift() : undefined) ?? '';
  const option = (pattern: RegExp): number | undefined => {
    const found = pattern.exec(options)?.[1];
    return found === undefined ? undefined : Number(found);
  };
  const largest = option(/largest=(\d+)/);
  const rig = new RecoveryRig({
    sack: !options.includes('nosack'),
    lostSyn: options.includes('lostsyn'),
    window: option(/window=(\d+)/),
    largest: largest === undefined ? undefined : largest * MSS,
  });
  const base = rig.written;
  let left: readonly string[] = [];
  let mark = 0;
  const segments = (count: string | undefined): number => base + Number(count);
  const act = (word: string, rest: readonly string[], step: string): void => {
    const [argument = ''] = rest;
    if (word.startsWith('+')) {
      rig.now += Number(word.slice(1));
      return;
    }
    switch (word) {
      case 'send':
        left = rig.send(Number(argument));
        break;
      case 'queue':
        rig.written += Number(argument);
        break;
      case 'early':
        rig.recovery.onTimeout(rig.now + Number(argument));
        assert.deepEqual(rig.send(), []);
        break;
      case 'expire':
        left = rig.expire();
        break;
      case 'mss':
        rig.recovery.setMss(Number(argument), rig.now);
        rig.largest = Number(argument);
        left = rig.send();
        break;
      case 'ack': {
        const sack = /sack (\S+)/.exec(step)?.[1]?.split(',') ?? [];
        const echo = /echo -(\d+)/.exec(step)?.[1];
        left = rig.ack(segments(argument), {
          sack: sack.map((block) => {
            const [from, to] = block.split('-');
            return [segments(from), segments(to)] as const;
          }),
          echo: echo === undefined ? -1 : rig.now - Number(echo),
          isDuplicate: step.endsWith(' dup'),
        });
        break;
      }
      case 'mark':
        mark = rig.window;
        break;
      case '>': {
        const shown = left.map((each) =>
          each.replaceAll(/[\d.]+/g, (number) => String(Number(number) - base)),
        );
        const expected = rest.join(' ').replaceAll('again ', 'again\u00a0').split(' ');
        const isWhole = expected.at(-1) !== '...';
        const wanted = (isWhole ? expected : expected.slice(0, -1))
          .map((each) => each.replaceAll('\u00a0', ' '))
          .filter((each) => each !== 'nothing');
        assert.deepEqual(isWhole ? shown : shown.slice(0, wanted.length), wanted);
        break;
      }
      case 'idle':
        assert.equal(rig.inFlight, 0);
        assert.equal(rig.recovery.timeout, Infinity);
        break;
      default: {
        const actual = VALUES[word]?.(rig);
        assert.ok(actual !== undefined, `no such step: ${step}`);
        const [comparison = '=', value = argument] = rest.length > 1 ? rest : [];
        const wanted = value === 'mark' ? mark : Number(value);
        const holds = COMPARISONS[comparison]?.(actual, wanted);
        assert.equal(holds, true, `${word} is ${actual}`);
      }
    }
  };
  for (const [index, step] of steps.entries()) {
    const [word = '', ...rest] = step.split(' ');
    try {
      act(word, rest, step);
    } catch (cause) {
      throw new Error(`step ${index + 1}: ${step}\n${(cause as Error).message}`, { cause });
    }
  }
  return rig;
}

const VALUES: Readonly<Record<string, (rig: RecoveryRig) => number>> = {
  window: (rig) => rig.window,
  flight: (rig) => rig.inFlight,
  wait: (rig) => rig.wait,
  timeouts: (rig) => rig.recovery.timeouts,
  held: (rig) => rig.recovery.segments,
};

const COMPARISONS: Readonly<Record<string, (left: number, right: number) => boolean>> = {
  '=': (left, right) => Math.abs(left - right) < 0.01,
  '<': (left, right) => left < right,
  '>': (left, right) => left > right,
  '<=': (left, right) => left <= right,
  '>=': (left, right) => left >= right,
};

const name = (start: number, end: number): string => {
  const last = end / MSS - 1;
  return last <= start / MSS ? `${start / MSS}` : `${start / MSS}-${last}`;
};
