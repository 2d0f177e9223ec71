import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { NamedDeadlines } from '../../../../../src/collections/named-deadlines.ts';
import {
  REKEY_ATTEMPT_TIME,
  REKEY_TIMEOUT,
  TUNNEL_DEADLINES,
} from '../../../../../src/protocols/wireguard/deadlines.ts';
import { HandshakeAttempts } from '../../../../../src/protocols/wireguard/handshake/handshake-attempts.ts';

const START = 1000;

function attempts() {
  const deadlines = new NamedDeadlines(TUNNEL_DEADLINES);
  return { deadlines, made: new HandshakeAttempts(deadlines) };
}

describe('the attempts of a handshake', () => {
  test('begin at once, and once while they are under way', () => {
    const { deadlines, made } = attempts();
    assert.equal(made.isDue(START), false);
    assert.equal(made.begin(START), true);
    assert.equal(made.isDue(START), true);
    assert.equal(made.begin(START), false);
    made.onSent(START, 7);
    assert.equal(deadlines.next, START + REKEY_TIMEOUT + 7);
    assert.equal(made.begin(START + 1), false);
    assert.equal(deadlines.next, START + REKEY_TIMEOUT + 7);
  });

  test('last for 90 s from when they began, whatever wants one meanwhile', () => {
    const { made } = attempts();
    made.begin(START);
    for (let now = START; now < START + REKEY_ATTEMPT_TIME; now += REKEY_TIMEOUT) {
      assert.equal(made.isExhausted(now), false);
      made.onSent(now, 0);
      made.begin(now + 1);
    }
    assert.equal(made.isExhausted(START + REKEY_ATTEMPT_TIME - 1), false);
    assert.equal(made.isExhausted(START + REKEY_ATTEMPT_TIME), true);
  });

  test('begin anew after their end, 5 s after the last initiation at the soonest', () => {
    for (const [pause, due] of [
      [1, REKEY_TIMEOUT],
      [REKEY_TIMEOUT, REKEY_TIMEOUT],
      [REKEY_TIMEOUT + 1, REKEY_TIMEOUT + 1],
    ] as const) {
      const { deadlines, made } = attempts();
      made.begin(START);
      made.onSent(START, 300);
      made.end();
      assert.equal(deadlines.next, Infinity);
      assert.equal(made.begin(START + pause), true);
      assert.equal(deadlines.next, START + due);
      assert.equal(made.isExhausted(START + pause + REKEY_ATTEMPT_TIME - 1), false);
    }
  });
});
