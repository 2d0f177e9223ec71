import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { X25519PrivateKey } from '@weir/crypto/x25519';
import { MacReader, MacWriter } from '../../../../../src/protocols/wireguard/handshake/cookies.ts';
import { Handshakes } from '../../../../../src/protocols/wireguard/handshake/handshakes.ts';
import {
  createStaticKeys,
  type StaticKeys,
} from '../../../../../src/protocols/wireguard/handshake/noise.ts';
import {
  COOKIE_REPLIES_A_SECOND,
  HANDSHAKES_A_SECOND,
  INITIATION_INTERVAL,
  MACS_A_SECOND,
  MAX_PENDING_MESSAGES,
} from '../../../../../src/protocols/wireguard/limits.ts';
import type { DropReason } from '../../../../../src/protocols/wireguard/contract.ts';
import type { TransportSession } from '../../../../../src/protocols/wireguard/transport-session.ts';
import {
  INITIATION_SIZE,
  RESPONSE_SIZE,
  readIndex,
  timestampAfter,
  writeIndex,
} from '../../../../../src/protocols/wireguard/wire.ts';
import { endpoint } from '../../../../../../../test/support/protocols/wireguard/tunnel-pair.ts';
import { SeededRandom } from '../../../../../../../test/support/simnet/seeded-random.ts';

const NOW = 5000;
const PEER = endpoint('192.0.2.1', 51_820);
const octets = (octet: number): Uint8Array => new Uint8Array(32).fill(octet);
const publicOf = (octet: number): Uint8Array => new X25519PrivateKey(octets(octet)).publicKey;

interface End {
  readonly handshakes: Handshakes;
  readonly staticKeys: StaticKeys;
  /** Of sessions, which are not used again. */
  readonly taken: Set<number>;
  /** The next indices that are drawn. */
  readonly indices: number[];
}

class RandomIndices extends SeededRandom {
  readonly indices: number[] = [];

  override bytes(length: number): Buffer {
    const drawn = super.bytes(length);
    const index = length === 4 ? this.indices.shift() : undefined;
    if (index !== undefined) writeIndex(drawn, 0, index);
    return drawn;
  }
}

/** One end, by the octet that its key is made of. */
function endOf(own: number, peer: number): End {
  const staticKeys = createStaticKeys(octets(own), publicOf(peer), octets(7));
  assert.ok(staticKeys);
  const taken = new Set<number>();
  const random = new RandomIndices(own);
  let last: Uint8Array | undefined;
  const handshakes = new Handshakes({
    staticKeys,
    random,
    timestamp: () => (last = timestampAfter(last, 1e12)),
    isTaken: (index) => taken.has(index),
  });
  return { handshakes, staticKeys, taken, indices: random.indices };
}

const left = (): End => endOf(1, 2);
const right = (): End => endOf(2, 1);

function session(result: TransportSession | DropReason): TransportSession {
  if (typeof result === 'string') assert.fail(result);
  return result;
}

/** The message that waits to be sent, and no longer. */
function sent({ handshakes }: End): Uint8Array {
  const next = handshakes.peek();
  assert.ok(next);
  handshakes.shift();
  return next.message;
}

/** A message of this size for the end of `key`: its codes are right, and nothing else. */
function forged(key: number, size: number, receiver = 0): Uint8Array {
  const message = new Uint8Array(size).fill(9);
  message[0] = size === INITIATION_SIZE ? 1 : 2;
  if (size === RESPONSE_SIZE) writeIndex(message, 8, receiver);
  new MacWriter(publicOf(key)).write(message, NOW);
  return message;
}

test('an initiation and its response make the sessions of both ends', () => {
  const [one, other] = [left(), right()];
  const initiation = one.handshakes.initiation(NOW);
  using responded = session(other.handshakes.onInitiation(initiation, PEER, NOW + 1));
  assert.deepEqual(
    [responded.isInitiator, responded.createdAt, responded.peerIndex],
    [false, NOW + 1, readIndex(initiation, 4)],
  );
  const pending = other.handshakes.peek();
  assert.equal(pending?.what, 'response');
  assert.deepEqual(pending.destination, PEER);
  const response = sent(other);
  assert.equal(other.handshakes.peek(), undefined);
  using initiated = session(one.handshakes.onResponse(response, PEER, NOW + 2));
  assert.deepEqual(
    [initiated.isInitiator, initiated.createdAt, initiated.index, initiated.peerIndex],
    [true, NOW + 2, responded.peerIndex, responded.index],
  );
  assert.equal(
    one.handshakes.onResponse(response, PEER, NOW + 3),
    'index',
    'it is no longer awaited',
  );
});

describe('an initiation', () => {
  test('without a valid code, or of another key, is dropped with its reason', () => {
    const { handshakes } = right();
    const other = new Uint8Array(INITIATION_SIZE).fill(9);
    assert.equal(handshakes.onInitiation(other, PEER, NOW), 'mac');
    assert.equal(handshakes.onInitiation(forged(2, INITIATION_SIZE), PEER, NOW), 'authentication');
    const foreign = endOf(3, 2).handshakes.initiation(NOW);
    assert.equal(handshakes.onInitiation(foreign, PEER, NOW), 'authentication');
    assert.equal(handshakes.peek(), undefined);
  });

  test('that comes again, or was made before the last one, is a replay at any time', () => {
    const [one, other] = [left(), right()];
    const first = one.handshakes.initiation(NOW);
    const second = one.handshakes.initiation(NOW);
    using accepted = session(other.handshakes.onInitiation(second, PEER, NOW));
    assert.ok(accepted);
    for (const now of [NOW, NOW + INITIATION_INTERVAL, NOW + 1e9]) {
      assert.equal(other.handshakes.onInitiation(second, PEER, now), 'replay');
      assert.equal(other.handshakes.onInitiation(first, PEER, now), 'replay');
    }
  });

  test('that comes too soon after the last one is dropped, and counts later', () => {
    const [one, other] = [left(), right()];
    using first = session(other.handshakes.onInitiation(one.handshakes.initiation(NOW), PEER, NOW));
    const next = one.handshakes.initiation(NOW);
    const soon = NOW + INITIATION_INTERVAL - 1;
    assert.equal(other.handshakes.onInitiation(next, PEER, soon), 'limit');
    using second = session(other.handshakes.onInitiation(next, PEER, soon + 1));
    assert.notEqual(second.index, first.index);
  });

  test('beyond what is handled gets a cookie, then nothing', () => {
    const { handshakes } = right();
    const message = forged(2, INITIATION_SIZE);
    const handle = (): unknown => handshakes.onInitiation(message, PEER, NOW);
    for (let count = 0; count < HANDSHAKES_A_SECOND; count++) {
      assert.equal(handle(), 'authentication');
    }
    for (let count = 0; count < COOKIE_REPLIES_A_SECOND; count++) {
      assert.equal(handle(), 'limit');
      assert.equal(handshakes.peek()?.what, 'cookie reply');
      handshakes.shift();
    }
    assert.equal(handle(), 'limit');
    assert.equal(handshakes.peek(), undefined);
  });

  test('makes no more than a number of messages wait to be sent', () => {
    const { handshakes } = right();
    const message = forged(2, INITIATION_SIZE);
    for (let count = 0; count < HANDSHAKES_A_SECOND + MAX_PENDING_MESSAGES + 9; count++) {
      handshakes.onInitiation(message, PEER, NOW);
    }
    let waiting = 0;
    for (; handshakes.peek(); waiting++) handshakes.shift();
    assert.equal(waiting, MAX_PENDING_MESSAGES);
  });
});

describe('a response', () => {
  test('to another index, or to nothing, is dropped', () => {
    const { handshakes } = left();
    assert.equal(handshakes.onResponse(forged(1, RESPONSE_SIZE), PEER, NOW), 'index');
    const index = readIndex(handshakes.initiation(NOW), 4);
    assert.equal(handshakes.onResponse(forged(1, RESPONSE_SIZE, index + 1), PEER, NOW), 'index');
    handshakes.abandon();
    assert.equal(handshakes.onResponse(forged(1, RESPONSE_SIZE, index), PEER, NOW), 'index');
  });

  test('that is not authentic is dropped, and the genuine one is accepted after it', () => {
    const [one, other] = [left(), right()];
    const initiation = one.handshakes.initiation(NOW);
    const index = readIndex(initiation, 4);
    using responded = session(other.handshakes.onInitiation(initiation, PEER, NOW));
    assert.ok(responded);
    const response = sent(other);
    const damaged = response.slice();
    damaged[70] = (damaged[70] ?? 0) ^ 1;
    assert.equal(one.handshakes.onResponse(damaged, PEER, NOW), 'mac');
    const authentication = forged(1, RESPONSE_SIZE, index);
    assert.equal(one.handshakes.onResponse(authentication, PEER, NOW), 'authentication');
    using initiated = session(one.handshakes.onResponse(response, PEER, NOW));
    assert.equal(initiated.index, index);
  });

  test('beyond the codes that are checked is dropped unread', () => {
    const { handshakes } = left();
    const index = readIndex(handshakes.initiation(NOW), 4);
    const message = forged(2, RESPONSE_SIZE, index);
    for (let count = 0; count < MACS_A_SECOND; count++) {
      handshakes.onResponse(message, PEER, NOW);
    }
    const valid = forged(1, RESPONSE_SIZE, index);
    assert.equal(handshakes.onResponse(valid, PEER, NOW), 'limit');
    assert.equal(handshakes.onResponse(valid, PEER, NOW + 1000), 'authentication');
  });
});

describe('a cookie reply', () => {
  /** What the end of `key` replies to a message under load. */
  const replyTo = (key: number, message: Uint8Array): Uint8Array =>
    new MacReader(publicOf(key), new SeededRandom(9)).reply(message, PEER, NOW);

  test('to the initiation under way is read once', () => {
    const { handshakes } = left();
    const reply = replyTo(2, handshakes.initiation(NOW));
    assert.equal(handshakes.onCookieReply(reply, undefined, NOW), undefined);
    assert.equal(handshakes.onCookieReply(reply, undefined, NOW), 'authentication');
    const next = handshakes.initiation(NOW + 1);
    assert.notDeepEqual(next.subarray(132), new Uint8Array(16), 'the next message returns it');
  });

  test('to the response of a session that is not used yet is read', () => {
    const [one, other] = [left(), right()];
    using responded = session(
      other.handshakes.onInitiation(one.handshakes.initiation(NOW), PEER, NOW),
    );
    const reply = replyTo(1, sent(other));
    assert.equal(other.handshakes.onCookieReply(reply, undefined, NOW), 'index');
    assert.equal(other.handshakes.onCookieReply(reply, responded.index + 1, NOW), 'index');
    assert.equal(other.handshakes.onCookieReply(reply, responded.index, NOW), undefined);
  });

  test('for another index, or by another key, is dropped', () => {
    const { handshakes } = left();
    const initiation = handshakes.initiation(NOW);
    const foreign = replyTo(3, initiation);
    assert.equal(handshakes.onCookieReply(foreign, undefined, NOW), 'authentication');
    const reply = replyTo(2, initiation);
    writeIndex(reply, 4, readIndex(reply, 4) + 1);
    assert.equal(handshakes.onCookieReply(reply, undefined, NOW), 'index');
  });
});

describe('an index', () => {
  test('is not that of a session, nor that of the handshake under way', () => {
    const [one, other] = [left(), right()];
    other.indices.push(5);
    assert.equal(readIndex(other.handshakes.initiation(NOW), 4), 5);
    other.taken.add(6);
    other.indices.push(6, 5, 6, 7);
    using responded = session(
      other.handshakes.onInitiation(one.handshakes.initiation(NOW), PEER, NOW),
    );
    assert.equal(responded.index, 7);
  });
});

test('after the end no key is left, and nothing is sent or accepted', () => {
  const [one, other] = [left(), right()];
  const initiation = one.handshakes.initiation(NOW);
  using responded = session(other.handshakes.onInitiation(initiation, PEER, NOW));
  assert.ok(responded);
  const response = other.handshakes.peek()?.message;
  assert.ok(response);
  for (const { handshakes, staticKeys } of [one, other]) {
    handshakes.close();
    for (const key of [staticKeys.staticSecret, staticKeys.presharedKey]) {
      assert.deepEqual(Uint8Array.from(key), octets(0));
    }
    assert.equal(handshakes.peek(), undefined);
  }
  assert.equal(one.handshakes.onResponse(response, PEER, NOW), 'index');
});
