import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { QUICK_ACKS } from '../../../../packages/netstack/src/limits.ts';
import { type ConnectionChoices, Driven } from './tcp-rig.ts';
import type { Segment } from './segments.ts';

/** First sequence numbers of the two sides; scripts count from 0. */
const OWN = 1_000_000;
const PEER = 4_294_960_000;
const WINDOW = 65_535;

/*
 * A script drives one connection as packetdrill drives a kernel. Steps are separated by lines or by `|`:
 *
 *     with role=active now=1000          choices, as the first step: see `CHOICES`
 *     established | connected | settled  a handshake without options; settled: behind the quick ACKs, numbers from 1 again
 *     in FIN-WAIT-2                      100 bytes of each side, and this state
 *     < S 0:0(0) win 1000 <mss 1460>     a segment of the peer arrives
 *     > S. 0:0(0) ack 1                  the connection has sent this; `win` and options if they matter
 *     > *                                it has sent something, whatever it is; `> *6` segments
 *     +100                               milliseconds pass; `++100` without a timeout
 *     accept | refuse reset | refuse silent | abort | close | restored | unreachable 5 | mtu 1000
 *     write 1000 | full 1000 | read 1000 `full`: the writer is told to wait, or nothing is taken
 *     room 0                             segments that the output takes
 *     state ESTABLISHED
 *     events established readable
 *     failure reset
 *     ended no | idle                    whether the end of stream was read; no deadline is set
 *     wait 1000                          the next deadline, at most
 *
 * Every segment that the connection sends has to be expected before the next step that does something.
 * Text after # is a comment.
 */

export interface ScriptChoices extends ConnectionChoices {
  /** First sequence number of the peer. */
  readonly peerSequence?: number;
}

const LARGEST_PAYLOAD = 65_000;

/** What `with` takes. */
const CHOICES: Readonly<Record<string, (value: string) => ScriptChoices>> = {
  role: (value) => ({ role: value === 'active' ? 'active' : 'passive' }),
  now: (value) => ({ now: Number(value) }),
  stamp: (value) => ({ timestampOffset: Number(value) }),
  own: (value) => ({ initialSequence: Number(value) }),
  peer: (value) => ({ peerSequence: Number(value) }),
  buffer: (value) => ({ settings: { receiveBuffer: Number(value) } }),
  keepAlive: (value) => ({ settings: { keepAlive: Number(value) } }),
  /** Segmentation offload, which packetdrill's scripts assume, with segments of so many bytes. */
  offload: (value) => ({
    path: {
      segmentBytes: Number(value),
      announcedMss: Number(value),
      largestPayload: LARGEST_PAYLOAD,
    },
  }),
};

/** Runs a script whose first step may be `with`. */
export function runScript(text: string): Script {
  const [first = '', ...rest] = stepsOf(text);
  if (!first.startsWith('with ')) return new Script().run(text);
  const choices: ScriptChoices = {};
  for (const each of first.slice(5).split(' ')) {
    const [name = '', value = ''] = each.split('=');
    const choose = CHOICES[name];
    assert.ok(choose, `no such choice: ${each}`);
    Object.assign(choices, choose(value));
  }
  return new Script(choices).run(rest.join('\n'));
}

/** A test for each script, by its name. */
export function describeScripts(title: string, scripts: Readonly<Record<string, string>>): void {
  describe(title, () => {
    for (const [name, script] of Object.entries(scripts)) test(name, () => void runScript(script));
  });
}

const stepsOf = (text: string): string[] =>
  text
    .replaceAll(/#.*/g, '')
    .split(/[\n|]/)
    .map((step) => step.trim())
    .filter((step) => step !== '');

export class Script {
  readonly driven: Driven;
  readonly #own: number;
  #peer: number;
  #written = 0;
  #read = 0;

  constructor(choices: ScriptChoices = {}) {
    this.#own = choices.initialSequence ?? OWN;
    this.#peer = choices.peerSequence ?? PEER;
    this.driven = new Driven({ ...choices, initialSequence: this.#own });
    this.driven.settle();
  }

  run(text: string): this {
    for (const [index, step] of stepsOf(text).entries()) {
      try {
        this.#step(step);
      } catch (error) {
        throw new Error(`step ${index + 1}: ${step}\n${(error as Error).message}`, {
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
    const [argument = ''] = rest;
    switch (word) {
      case 'established':
        this.run(ESTABLISHED);
        return;
      case 'connected':
        this.run(CONNECTED);
        return;
      case 'settled':
        this.#settle();
        return;
      case 'in':
        this.run(
          `established | ${WAY} | ${WAYS[argument as SynchronizedState]} | state ${argument}`,
        );
        this.driven.takeEvents();
        return;
      case '>':
        if (argument.startsWith('*')) {
          const { length } = driven.out.take();
          if (argument === '*') assert.ok(length > 0, 'nothing was sent');
          else assert.equal(length, Number(argument.slice(1)), 'segments that were sent');
        } else this.#expect(step.slice(1).trim());
        return;
      case 'state':
        assert.equal(connection.state, argument);
        return;
      case 'events':
        assert.deepEqual(driven.takeEvents(), rest);
        return;
      case 'failure':
        assert.equal(connection.failure, argument);
        return;
      case 'ended':
        assert.equal(connection.isEnded, argument === 'yes');
        return;
      case 'idle':
        assert.equal(connection.nextTimeout(), Infinity);
        return;
      case 'wait':
        assert.ok(connection.nextTimeout() - driven.now <= Number(argument), 'the next deadline');
        return;
      default:
    }
    this.#expectNothing();
    if (word === '<') driven.receive(this.#parse(step.slice(1).trim()));
    else if (word.startsWith('++')) driven.now += Number(word.slice(2));
    else if (word.startsWith('+')) driven.advance(Number(word.slice(1)));
    else {
      this.#call(word, argument);
      driven.settle();
    }
  }

  #call(word: string, argument: string): void {
    const { connection, now, out } = this.driven;
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
      case 'unreachable':
        connection.onUnreachable((this.#own + Number(argument)) >>> 0, now);
        break;
      case 'mtu':
        connection.onPathMtu(Number(argument), now);
        break;
      case 'room':
        out.room = Number(argument);
        break;
      case 'write':
      case 'full': {
        const more = connection.write(bytesAt(this.#written, Number(argument)));
        if (word === 'full') assert.equal(more, false);
        this.#written += Number(argument);
        break;
      }
      case 'read':
        this.#readAll(Number(argument));
        break;
      default:
        throw new Error(`no such step: ${word}`);
    }
  }

  /** Passes the segments that are acknowledged at once. */
  #settle(): void {
    this.run('established');
    for (let at = 1, count = 0; count < QUICK_ACKS; count++, at += 1460) {
      this.run(`< . ${at}:${at + 1460}(1460) ack 1 | > . 1:1(0) ack ${at + 1460} | read 1460`);
    }
    this.driven.takeEvents();
    this.#peer += QUICK_ACKS * 1460;
    this.#read = 0;
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
const ESTABLISHED = `
  accept | < S 0:0(0) win 65535 <mss 1460> | > S. 0:0(0) ack 1 | < . 1:1(0) ack 1
  state ESTABLISHED | events established`;

/** An active one. */
const CONNECTED = `
  > S 0:0(0) | < S. 0:0(0) ack 1 <mss 1460> | > . 1:1(0) ack 1
  state ESTABLISHED | events established`;

export const established = (choices: ScriptChoices = {}): Script =>
  new Script(choices).run('established');

export type SynchronizedState =
  | 'ESTABLISHED'
  | 'FIN-WAIT-1'
  | 'FIN-WAIT-2'
  | 'CLOSE-WAIT'
  | 'CLOSING'
  | 'LAST-ACK';

/** From ESTABLISHED: 100 bytes of each side. */
const WAY = `
  < P. 1:101(100) ack 1 | > . 1:1(0) ack 101 | read 100
  write 100 | > P. 1:101(100) ack 101 | < . 101:101(0) ack 101`;

/** How to get from there to these states. */
const WAYS: Readonly<Record<SynchronizedState, string>> = {
  ESTABLISHED: '',
  'FIN-WAIT-1': 'close | > F. 101:101(0) ack 101',
  'FIN-WAIT-2': 'close | > F. 101:101(0) ack 101 | < . 101:101(0) ack 102',
  'CLOSE-WAIT': '< F. 101:101(0) ack 101 | > . 101:101(0) ack 102',
  CLOSING: `
    close | > F. 101:101(0) ack 101 | < F. 101:101(0) ack 101 | > . 102:102(0) ack 102`,
  'LAST-ACK': `
    < F. 101:101(0) ack 101 | > . 101:101(0) ack 102 | close | > F. 101:101(0) ack 102`,
};

interface Numbers {
  readonly next: number;
  readonly received: number;
  readonly una: number;
}

/** SND.NXT, RCV.NXT and SND.UNA in these states. */
export const AT: Readonly<Record<SynchronizedState, Numbers>> = {
  ESTABLISHED: { next: 101, received: 101, una: 101 },
  'FIN-WAIT-1': { next: 102, received: 101, una: 101 },
  'FIN-WAIT-2': { next: 102, received: 101, una: 102 },
  'CLOSE-WAIT': { next: 101, received: 102, una: 101 },
  CLOSING: { next: 102, received: 102, una: 101 },
  'LAST-ACK': { next: 102, received: 102, una: 101 },
};

export const SYNCHRONIZED = Object.keys(WAYS) as readonly SynchronizedState[];
