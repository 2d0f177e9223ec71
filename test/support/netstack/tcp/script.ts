import assert from 'node:assert/strict';
import { type ConnectionChoices, Driven } from './tcp-rig.ts';
import type { Segment } from './segments.ts';

/** First sequence numbers of the two sides; scripts count from 0. */
const OWN = 1_000_000;
const PEER = 4_294_960_000;
const WINDOW = 65_535;

/*
 * A script drives one connection as packetdrill drives a kernel. One step a line:
 *
 *     < S 0:0(0) win 1000 <mss 1460>     a segment of the peer arrives
 *     > S. 0:0(0) ack 1                  the connection has sent this; `win` and options if they matter
 *     +100                               milliseconds pass
 *     accept | refuse reset | refuse silent | abort | close | restored
 *     write 1000 | read 1000
 *     state ESTABLISHED
 *     events established readable
 *     failure reset
 *
 * Every segment that the connection sends has to be expected before the next step that does something.
 * Text after # is a comment.
 */

export interface ScriptChoices extends ConnectionChoices {
  /** First sequence number of the peer. */
  readonly peerSequence?: number;
}

export class Script {
  readonly driven: Driven;
  readonly #own: number;
  readonly #peer: number;
  #written = 0;
  #read = 0;

  constructor(choices: ScriptChoices = {}) {
    this.#own = choices.initialSequence ?? OWN;
    this.#peer = choices.peerSequence ?? PEER;
    this.driven = new Driven({ ...choices, initialSequence: this.#own });
    this.driven.settle();
  }

  run(text: string): this {
    for (const [index, line] of text.split('\n').entries()) {
      const step = line.replace(/#.*/, '').trim();
      if (step === '') continue;
      try {
        this.#step(step);
      } catch (error) {
        throw new Error(`line ${index + 1}: ${step}\n${(error as Error).message}`, {
          cause: error,
        });
      }
    }
    this.#expectNothing();
    return this;
  }

  /** What was sent and not expected yet, as a script writes it. */
  sent(): string[] {
    return this.driven.out.sent.map((segment) => this.#format(segment));
  }

  #step(step: string): void {
    const { driven } = this;
    const { connection } = driven;
    const [word = '', ...rest] = step.split(/\s+/);
    if (word === '>') {
      this.#expect(step.slice(1).trim());
      return;
    }
    if (word === 'state') {
      assert.equal(connection.state, rest[0]);
      return;
    }
    if (word === 'events') {
      assert.deepEqual(driven.takeEvents(), rest);
      return;
    }
    if (word === 'failure') {
      assert.equal(connection.failure, rest[0]);
      return;
    }
    this.#expectNothing();
    if (word === '<') {
      driven.receive(this.#parse(step.slice(1).trim()));
      return;
    }
    if (word.startsWith('+')) {
      driven.advance(Number(word.slice(1)));
      return;
    }
    this.#call(word, rest[0] ?? '');
    driven.settle();
  }

  #call(word: string, argument: string): void {
    const { connection, now } = this.driven;
    switch (word) {
      case 'accept':
        connection.accept();
        break;
      case 'refuse':
        connection.refuse(argument === 'silent' ? 'silent' : 'reset', now);
        break;
      case 'abort':
        connection.abort(now);
        break;
      case 'close':
        connection.closeWrite();
        break;
      case 'restored':
        connection.onPathRestored(now);
        break;
      case 'write':
        connection.write(bytesAt(this.#written, Number(argument)));
        this.#written += Number(argument);
        break;
      case 'read':
        this.#readAll(Number(argument));
        break;
      default:
        throw new Error(`no such step: ${word}`);
    }
  }

  #readAll(expected: number): void {
    const { connection, now } = this.driven;
    let size = 0;
    for (let chunk = connection.read(now); chunk !== undefined; chunk = connection.read(now)) {
      const at = this.#read + size;
      assert.deepEqual(Buffer.from(chunk), bytesAt(at, chunk.length), 'the bytes that were sent');
      size += chunk.length;
    }
    assert.equal(size, expected, 'bytes that were read');
    this.#read += size;
  }

  #expect(text: string): void {
    const segment = this.driven.out.sent.shift();
    assert.ok(segment !== undefined, 'nothing was sent');
    const full = this.#format(segment);
    let actual = full;
    if (!/ win /.test(text)) actual = actual.replace(/ win \d+/, '');
    if (!text.includes('<')) actual = actual.replace(/ <.*>/, '');
    assert.equal(actual, text, `sent: ${full}`);
    const offset = (segment.sequence - this.#own - 1) | 0;
    const expected = bytesAt(offset, segment.payload.length);
    assert.deepEqual(Buffer.from(segment.payload), expected, 'the bytes that were written');
  }

  #expectNothing(): void {
    assert.deepEqual(this.sent(), [], 'sent, and not expected');
  }

  #format(segment: Segment): string {
    const { flags, payload } = segment;
    const start = (segment.sequence - this.#own) | 0;
    const acknowledged = (segment.acknowledgment - this.#peer) | 0;
    const parts = [flags, `${start}:${start + payload.length}(${payload.length})`];
    if (flags.includes('.')) parts.push(`ack ${acknowledged}`);
    parts.push(`win ${segment.window}`);
    const options: string[] = [];
    if (segment.mss !== undefined) options.push(`mss ${segment.mss}`);
    if (segment.sackPermitted === true) options.push('sackOK');
    if (segment.timestamp !== undefined) {
      options.push(`TS val ${segment.timestamp} ecr ${segment.timestampEcho}`);
    }
    if (segment.windowScale !== undefined) options.push(`wscale ${segment.windowScale}`);
    for (const [left, right] of segment.sack ?? []) {
      options.push(`sack ${(left - this.#peer) | 0}:${(right - this.#peer) | 0}`);
    }
    if (segment.segmentSize !== undefined) options.push(`gso ${segment.segmentSize}`);
    if (options.length > 0) parts.push(`<${options.join(',')}>`);
    return parts.join(' ');
  }

  #parse(text: string): Segment {
    const match =
      /^(\S+) (-?\d+):(-?\d+)\((\d+)\)(?: ack (-?\d+))?(?: win (\d+))?(?: <(.*)>)?$/.exec(text);
    assert.ok(match !== null, 'not a segment');
    const [, flags = '', start, end, size, acknowledged, window, options = ''] = match;
    assert.equal(Number(end) - Number(start), Number(size), 'the numbers of the script');
    const one = (pattern: RegExp): number | undefined => {
      const found = pattern.exec(options)?.[1];
      return found === undefined ? undefined : Number(found);
    };
    const mss = one(/mss (\d+)/);
    const windowScale = one(/wscale (\d+)/);
    const timestamp = one(/TS val (\d+)/);
    const sack = [...options.matchAll(/sack (-?\d+):(-?\d+)/g)].map(
      ([, left, right]): [number, number] => [
        (this.#own + Number(left)) >>> 0,
        (this.#own + Number(right)) >>> 0,
      ],
    );
    return {
      flags,
      sequence: (this.#peer + Number(start)) >>> 0,
      acknowledgment: acknowledged === undefined ? 0 : (this.#own + Number(acknowledged)) >>> 0,
      window: window === undefined ? WINDOW : Number(window),
      payload: bytesAt(Number(start) - (flags.includes('S') ? 0 : 1), Number(size)),
      ...(mss !== undefined && { mss }),
      ...(windowScale !== undefined && { windowScale }),
      sackPermitted: options.includes('sackOK'),
      ...(timestamp !== undefined && { timestamp, timestampEcho: one(/ecr (\d+)/) ?? 0 }),
      sack,
    };
  }
}

/** The bytes of either stream at an offset: they do not repeat within a window. */
function bytesAt(offset: number, size: number): Buffer {
  const bytes = Buffer.alloc(size);
  for (let index = 0; index < size; index++) {
    const at = offset + index;
    bytes[index] = (at ^ (at >>> 8) ^ (at >>> 16)) & 0xff;
  }
  return bytes;
}

/** A passive connection in ESTABLISHED, with nothing but the MSS negotiated, on both sides at 1. */
export function established(choices: ScriptChoices = {}): Script {
  return new Script({ role: 'passive', ...choices }).run(`
    accept
    < S 0:0(0) win 65535 <mss 1460>
    > S. 0:0(0) ack 1
    < . 1:1(0) ack 1
    state ESTABLISHED
    events established
  `);
}

/** An active connection in ESTABLISHED. */
export function connected(choices: ScriptChoices = {}): Script {
  return new Script({ role: 'active', ...choices }).run(`
    > S 0:0(0)
    < S. 0:0(0) ack 1 <mss 1460>
    > . 1:1(0) ack 1
    state ESTABLISHED
    events established
  `);
}

export type SynchronizedState =
  | 'ESTABLISHED'
  | 'FIN-WAIT-1'
  | 'FIN-WAIT-2'
  | 'CLOSE-WAIT'
  | 'CLOSING'
  | 'LAST-ACK';

/** How to get there from ESTABLISHED, with 100 bytes of each side; SND.NXT and RCV.NXT are in `AT`. */
const WAYS: Readonly<Record<SynchronizedState, string>> = {
  ESTABLISHED: '',
  'FIN-WAIT-1': `
    close
    > F. 101:101(0) ack 101`,
  'FIN-WAIT-2': `
    close
    > F. 101:101(0) ack 101
    < . 101:101(0) ack 102`,
  'CLOSE-WAIT': `
    < F. 101:101(0) ack 101
    > . 101:101(0) ack 102`,
  CLOSING: `
    close
    > F. 101:101(0) ack 101
    < F. 101:101(0) ack 101
    > . 102:102(0) ack 102`,
  'LAST-ACK': `
    < F. 101:101(0) ack 101
    > . 101:101(0) ack 102
    close
    > F. 101:101(0) ack 102`,
};

/** SND.NXT, RCV.NXT and SND.UNA in these states. */
export const AT: Readonly<
  Record<
    SynchronizedState,
    { readonly next: number; readonly received: number; readonly una: number }
  >
> = {
  ESTABLISHED: { next: 101, received: 101, una: 101 },
  'FIN-WAIT-1': { next: 102, received: 101, una: 101 },
  'FIN-WAIT-2': { next: 102, received: 101, una: 102 },
  'CLOSE-WAIT': { next: 101, received: 102, una: 101 },
  CLOSING: { next: 102, received: 102, una: 101 },
  'LAST-ACK': { next: 102, received: 102, una: 101 },
};

export const SYNCHRONIZED = Object.keys(WAYS) as readonly SynchronizedState[];

export function inState(state: SynchronizedState, choices: ScriptChoices = {}): Script {
  const script = established(choices).run(`
    < P. 1:101(100) ack 1
    > . 1:1(0) ack 101
    read 100
    write 100
    > P. 1:101(100) ack 101
    < . 101:101(0) ack 101
    ${WAYS[state]}
    state ${state}
  `);
  script.driven.takeEvents();
  return script;
}
