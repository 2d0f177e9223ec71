import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { IpEndpoint } from '@weir/base/ip';
import { MacWriter } from '../../../../../src/protocols/wireguard/handshake/cookies.ts';
import {
  COOKIE_REPLIES_A_SECOND,
  HANDSHAKES_A_SECOND,
  MACS_A_SECOND,
  MAX_VALIDATED_SOURCES,
  RESPONSES_A_SECOND,
  VALIDATED_HANDSHAKES_A_SECOND,
} from '../../../../../src/protocols/wireguard/limits.ts';
import { INITIATION_SIZE } from '../../../../../src/protocols/wireguard/wire.ts';
import { endpoint } from '../../../../../../../test/support/data/ip-packets.ts';
import { SeededRandom } from '../../../../../../../test/support/simnet/seeded-random.ts';
import { HandshakeLimiter } from '../../../../../src/protocols/wireguard/handshake/handshakes.ts';

const PUBLIC_KEY = new Uint8Array(32).fill(7);
const CLIENT = endpoint('192.0.2.1', 4000);
const NOW = 1e6;

const limiter = (): HandshakeLimiter => new HandshakeLimiter(PUBLIC_KEY, new SeededRandom(1));

/** An initiation with the codes that `writer` gives it. */
function initiation(writer: MacWriter): Uint8Array {
  const message = new Uint8Array(INITIATION_SIZE).fill(1);
  writer.write(message, NOW);
  return message;
}

/** What becomes of so many equal initiations at once, in the order in which it first happened. */
function decisions(of: HandshakeLimiter, message: Uint8Array, count: number): string[] {
  const seen = new Set<string>();
  for (let at = 0; at < count; at++) {
    const decision = of.decide(message, CLIENT, NOW);
    seen.add(typeof decision === 'string' ? decision : 'cookie');
  }
  return [...seen];
}

describe('the limit of handshakes', () => {
  test('reads initiations up to it, then demands cookies, then is silent', () => {
    const message = initiation(new MacWriter(PUBLIC_KEY));
    const count = HANDSHAKES_A_SECOND + COOKIE_REPLIES_A_SECOND + 1;
    assert.deepEqual(decisions(limiter(), message, HANDSHAKES_A_SECOND), ['read']);
    assert.deepEqual(decisions(limiter(), message, count), ['read', 'cookie', 'limit']);
  });

  test('has a share for an address that returned its cookie', () => {
    const of = limiter();
    const writer = new MacWriter(PUBLIC_KEY);
    const message = initiation(writer);
    decisions(of, message, HANDSHAKES_A_SECOND);
    const reply = of.decide(message, CLIENT, NOW);
    assert.ok(reply instanceof Uint8Array);
    assert.ok(writer.readReply(reply, NOW));
    const validated = initiation(writer);
    assert.deepEqual(decisions(of, validated, VALIDATED_HANDSHAKES_A_SECOND), ['read']);
    assert.deepEqual(decisions(of, validated, 1), ['limit']);
  });

  test('has shares for so many addresses, the first of which is forgotten for another', () => {
    const of = limiter();
    const unknown = initiation(new MacWriter(PUBLIC_KEY));
    const addresses = Array.from({ length: MAX_VALIDATED_SOURCES + 1 }, (_, index) => ({
      ...CLIENT,
      d: CLIENT.d + index,
    }));
    /** Uses up what all addresses have in common, at a time when it is full again. */
    const exhaust = (now: number): void => {
      for (let count = 0; count < HANDSHAKES_A_SECOND; count++) of.decide(unknown, CLIENT, now);
    };
    const messages: Uint8Array[] = [];
    for (const [index, address] of addresses.entries()) {
      // A cookie is good for two minutes, and there are so many a second.
      const now = NOW + Math.floor(index / COOKIE_REPLIES_A_SECOND) * 1000;
      if (index % COOKIE_REPLIES_A_SECOND === 0) exhaust(now);
      const writer = new MacWriter(PUBLIC_KEY);
      const reply = of.decide(initiation(writer), address, now);
      assert.ok(reply instanceof Uint8Array);
      assert.ok(writer.readReply(reply, NOW));
      messages.push(initiation(writer));
    }
    const late = NOW + 60_000;
    exhaust(late);
    const decide = (index: number): unknown =>
      of.decide(messages[index] as Uint8Array, addresses[index] as IpEndpoint, late);
    for (let count = 0; count < VALIDATED_HANDSHAKES_A_SECOND; count++) {
      assert.equal(decide(0), 'read');
    }
    for (let index = 1; index < MAX_VALIDATED_SOURCES; index++) assert.equal(decide(index), 'read');
    assert.equal(decide(0), 'limit', 'it is known while there is room');
    assert.equal(decide(MAX_VALIDATED_SOURCES), 'read');
    assert.equal(decide(0), 'read', 'it was forgotten');
  });

  test('of responses counts those that have a valid code alone', () => {
    const forged = new Uint8Array(INITIATION_SIZE);
    assert.equal(limiter().refusal(forged, CLIENT, NOW), 'mac');
  });

  test('checks no more codes than it may, of initiations and of responses', () => {
    const of = limiter();
    const forged = new Uint8Array(INITIATION_SIZE);
    assert.deepEqual(decisions(of, forged, MACS_A_SECOND), ['invalid']);
    assert.deepEqual(decisions(of, forged, 1), ['limit']);
    const message = initiation(new MacWriter(PUBLIC_KEY));
    assert.equal(of.refusal(message, CLIENT, NOW), 'limit');
    assert.equal(limiter().refusal(message, CLIENT, NOW), undefined);
  });

  test('has no more responses read than it may, whatever initiations there are', () => {
    const of = limiter();
    const message = initiation(new MacWriter(PUBLIC_KEY));
    decisions(of, message, HANDSHAKES_A_SECOND + 1);
    for (let count = 0; count < RESPONSES_A_SECOND; count++) {
      assert.equal(of.refusal(message, CLIENT, NOW), undefined);
    }
    assert.equal(of.refusal(message, CLIENT, NOW), 'limit');
    assert.equal(of.refusal(message, CLIENT, NOW + 1000), undefined);
  });
});
