import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import {
  KEEPALIVE_TIMEOUT,
  MAX_JITTER,
  REJECT_AFTER_TIME,
  REKEY_ATTEMPT_TIME,
  REKEY_TIMEOUT,
} from '../../../../src/protocols/wireguard/deadlines.ts';
import {
  endpoint,
  TunnelPair,
  type SentDatagram,
  type TunnelEnd,
} from '../../../../../../test/support/protocols/wireguard/tunnel-pair.ts';

/** The types of whitepaper §5.4. */
const INITIATION = 1;
const DATA = 4;
/** A data message without a packet. */
const EMPTY_BYTES = 32;

type Side = 'left' | 'right';
type Step =
  | { readonly do: 'send'; readonly from: Side }
  | { readonly do: 'pass'; readonly milliseconds: number }
  /** From now on the path loses what that side sends, or holds it. */
  | { readonly do: 'lose' | 'hold' | 'clear'; readonly from: Side }
  /** What was held arrives, the last first. */
  | { readonly do: 'release' }
  /** A datagram of before arrives once more, or at last. */
  | { readonly do: 'repeat'; readonly which: number }
  /** The right end has another address. */
  | { readonly do: 'roam' }
  /** The left end learns the address of the right one, as from its name. */
  | { readonly do: 'resolve' };

const side = fc.constantFrom<Side>('left', 'right');
const steps = fc.array(
  fc.oneof(
    { weight: 6, arbitrary: fc.record({ do: fc.constant('send' as const), from: side }) },
    {
      weight: 6,
      arbitrary: fc.record({
        do: fc.constant('pass' as const),
        milliseconds: fc.constantFrom(1, 1000, 5000, 10_000, 16_000, 60_000, 121_000, 181_000),
      }),
    },
    {
      weight: 4,
      arbitrary: fc.record({
        do: fc.constantFrom('lose' as const, 'hold' as const, 'clear' as const, 'clear' as const),
        from: side,
      }),
    },
    { weight: 2, arbitrary: fc.record({ do: fc.constant('release' as const) }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('repeat' as const), which: fc.nat() }) },
    {
      weight: 2,
      arbitrary: fc.record({ do: fc.constantFrom('roam' as const, 'resolve' as const) }),
    },
  ),
  { minLength: 8, maxLength: 40, size: 'max' },
);

/** What one side has done so far, as the path sees it. */
class Observed {
  path: 'lose' | 'hold' | 'clear' = 'clear';
  initiatedAt = -Infinity;
  /** When a message was last sent that the peer can authenticate. */
  sentAt = -Infinity;
  /** Since when a packet that has arrived had nothing sent after it. */
  owesSince: number | undefined;
  /** Packets that have arrived, by their number. */
  readonly arrived = new Set<number>();
  empties = 0;
}

/** A pair on a path that loses, delays, repeats and reorders, and what whitepaper §6 says of it. */
class LossyPair {
  readonly pair: TunnelPair;
  readonly sides = { left: new Observed(), right: new Observed() };
  readonly #all: { readonly datagram: SentDatagram; readonly at: number }[] = [];
  #held: { readonly datagram: SentDatagram; readonly at: number }[] = [];
  #sentBy: Side[] = [];
  /** When there was last a reason for attempts of a handshake. */
  #lastPacketAt = -Infinity;
  readonly #keepalive: number;

  constructor(keepalive: number) {
    this.#keepalive = keepalive;
    this.pair = new TunnelPair({ left: { keepalive } });
    this.pair.passes = (datagram) => this.#passes(datagram);
  }

  run(step: Step): void {
    const { pair } = this;
    switch (step.do) {
      case 'send':
        this.send(step.from);
        break;
      case 'pass':
        this.pass(step.milliseconds);
        break;
      case 'lose':
      case 'hold':
      case 'clear':
        this.sides[step.from].path = step.do;
        break;
      case 'release': {
        const held = this.#held.toReversed();
        this.#held = [];
        for (const { datagram, at } of held) this.#arrives(datagram, pair.now - at);
        break;
      }
      case 'repeat': {
        const again = this.#all[step.which % (this.#all.length || 1)];
        if (again) this.#arrives(again.datagram, pair.now - again.at);
        break;
      }
      case 'roam':
        pair.right.address = endpoint('198.51.100.9', 1000 + this.#sentBy.length);
        break;
      case 'resolve':
        // Attempts under way begin anew, with an initiation at once.
        this.sides.left.initiatedAt = -Infinity;
        this.#lastPacketAt = pair.now;
        pair.left.tunnel.moveTo(pair.right.address, pair.now);
        pair.left.tunnel.transmit(pair.now, pair.left);
        break;
      default:
        step satisfies never;
    }
    this.#account();
    pair.deliver();
    this.#account();
  }

  /** Sends a packet with its number. */
  send(from: Side): number {
    const number = this.#sentBy.push(from) - 1;
    this.#lastPacketAt = this.pair.now;
    const packet = new Uint8Array(40).fill(0x45);
    new DataView(packet.buffer).setUint32(4, number);
    this.pair.send(this.pair[from], packet);
    return number;
  }

  /** In small steps, so that what is due is known when it is looked at. */
  pass(milliseconds: number): void {
    for (let left = milliseconds; left > 0; left -= 1000) {
      this.pair.advance(Math.min(left, 1000));
      this.#account();
    }
  }

  /** A datagram that the path has had before: `age` is the time since it was sent. */
  #arrives(datagram: SentDatagram, age: number): void {
    const { pair } = this;
    const to = datagram.to.port === pair.left.address.port ? pair.left : pair.right;
    const before = to.received.length;
    pair.passes = undefined;
    pair.arrive(to, datagram);
    pair.passes = (next) => this.#passes(next);
    if (age >= REJECT_AFTER_TIME) assert.equal(to.received.length, before, 'of an old session');
    this.#account();
  }

  #passes(datagram: SentDatagram): boolean {
    const { pair } = this;
    // What has arrived before this was sent is answered by it.
    this.#account();
    const from = datagram.from === pair.left.address ? this.sides.left : this.sides.right;
    const [type] = datagram.bytes;
    this.#all.push({ datagram, at: pair.now });
    if (type === INITIATION) {
      assert.ok(pair.now - from.initiatedAt >= REKEY_TIMEOUT, 'initiations are 5 s apart');
      const reasonBefore =
        REKEY_ATTEMPT_TIME + KEEPALIVE_TIMEOUT + 2 * (REKEY_TIMEOUT + MAX_JITTER);
      if (this.#keepalive === 0) {
        assert.ok(pair.now - this.#lastPacketAt <= reasonBefore, 'no handshake without a packet');
      }
      from.initiatedAt = pair.now;
    }
    if (type === DATA) {
      if (datagram.bytes.length === EMPTY_BYTES) from.empties++;
      else this.#lastPacketAt = pair.now;
    }
    from.sentAt = pair.now;
    from.owesSince = undefined;
    if (from.path === 'hold') this.#held.push({ datagram, at: pair.now });
    return from.path === 'clear';
  }

  /** Takes note of what has arrived, and holds it against what is promised. */
  #account(): void {
    const { pair } = this;
    for (const name of ['left', 'right'] as const) {
      const end: TunnelEnd = pair[name];
      const seen = this.sides[name];
      for (const packet of end.received.splice(0)) {
        const number = new DataView(packet.buffer, packet.byteOffset).getUint32(4);
        assert.notEqual(this.#sentBy[number], name, 'a packet comes from the peer');
        assert.ok(number < this.#sentBy.length && !seen.arrived.has(number), 'and once');
        seen.arrived.add(number);
        this.#lastPacketAt = pair.now;
        seen.owesSince ??= pair.now;
      }
      // A session of the peer's may end before it can be answered, and then there is nothing to send with.
      const owes = seen.owesSince ?? Infinity;
      const isUsable = end.tunnel.state === 'established' && pair.now - owes < REKEY_TIMEOUT * 4;
      if (isUsable)
        assert.ok(pair.now - owes <= KEEPALIVE_TIMEOUT + 1000, 'it is answered in 10 s');
      const reasons = seen.arrived.size + end.sessions;
      if (name === 'right' || this.#keepalive === 0) {
        assert.ok(seen.empties <= 2 * reasons, 'keep-alives have a reason');
      }
    }
  }
}

for (const keepalive of [0, 20_000]) {
  const title = keepalive === 0 ? 'alone when packets are sent' : 'with persistent keep-alives';
  test(`a pair on any path keeps the times of whitepaper §6, and works again on a clear one, ${title}`, () => {
    fc.assert(
      fc.property(steps, (all) => {
        const lossy = new LossyPair(keepalive);
        for (const step of all) lossy.run(step);
        const { pair, sides } = lossy;
        sides.left.path = sides.right.path = 'clear';
        // The left end finds the right one by what that sends.
        lossy.send('right');
        lossy.send('left');
        lossy.pass(REKEY_ATTEMPT_TIME + 2 * (KEEPALIVE_TIMEOUT + REKEY_TIMEOUT + MAX_JITTER));
        const numbers = { right: lossy.send('left'), left: lossy.send('right') };
        lossy.pass(1000);
        for (const name of ['left', 'right'] as const) {
          assert.ok(sides[name].arrived.has(numbers[name]), `${name} has the packet`);
          assert.equal(pair[name].tunnel.state, 'established');
        }
        if (keepalive === 0) return;
        for (let step = 0; step < 60; step++) {
          lossy.pass(1000);
          assert.ok(pair.now - sides.left.sentAt <= keepalive + 1000);
        }
      }),
      { numRuns: 40 },
    );
  });
}
