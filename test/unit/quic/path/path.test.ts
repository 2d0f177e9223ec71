import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { MAX_CHALLENGES, MAX_RESPONSES } from '../../../../src/quic/path/limits.ts';
import type { Path } from '../../../../src/quic/path/path.ts';
import { makePath } from '../../../support/quic/path-rig.ts';

describe('anti-amplification (RFC 9000 §8.1)', () => {
  test('three times what was received may be sent, until the address is validated', () => {
    const path = makePath('home:1');
    assert.equal(path.amplificationBudget, 0);
    path.onReceived(1200);
    assert.equal(path.amplificationBudget, 3600);
    path.onSent(3000);
    assert.equal(path.amplificationBudget, 600);
    path.onReceived(100);
    assert.equal(path.amplificationBudget, 900);
    path.validate();
    assert.equal(path.amplificationBudget, Infinity);
  });

  test('a sender that keeps to it never sends more than three times what came', () => {
    const step = fc.record({
      isReceived: fc.boolean(),
      bytes: fc.integer({ min: 1, max: 65_000 }),
    });
    fc.assert(
      fc.property(fc.array(step), (steps) => {
        const path = makePath('home:1');
        let received = 0;
        let sent = 0;
        for (const { isReceived, bytes } of steps) {
          if (isReceived) {
            received += bytes;
            path.onReceived(bytes);
          } else {
            const size = Math.min(bytes, path.amplificationBudget);
            sent += size;
            path.onSent(size);
          }
          assert.ok(sent <= 3 * received);
        }
      }),
    );
  });
});

/** Sends the challenge that is due. */
function sendChallenge(path: Path<string>, now: number, expanded = true): Uint8Array {
  const data = path.challengeDue;
  assert.ok(data);
  const copy = Uint8Array.from(data);
  path.onChallengeSent(expanded, now);
  return copy;
}

describe('path validation (RFC 9000 §8.2)', () => {
  test('the answer to a challenge validates the path', () => {
    const path = makePath('home:1');
    path.startValidation(100, 0);
    const data = sendChallenge(path, 0);
    assert.equal(path.challengeDue, undefined);
    assert.equal(path.isValidated, false);
    assert.equal(path.onResponse(Buffer.concat([Buffer.alloc(3), data]), 3, 50), true);
    assert.equal(path.isValidated, true);
    assert.equal(path.isValidating, false);
    assert.equal(path.timeout, Infinity);
  });

  test('an answer with other data is ignored', () => {
    const path = makePath('home:1');
    path.startValidation(100, 0);
    const data = sendChallenge(path, 0);
    data[7] = (data[7] ?? 0) ^ 1;
    assert.equal(path.onResponse(data, 0, 50), false);
    assert.equal(path.isValidated, false);
  });

  test('challenges are repeated with other data, ever more rarely, and each may be answered (§8.2.1)', () => {
    const path = makePath('home:1');
    path.startValidation(100, 0);
    const times: number[] = [];
    const sent: Uint8Array[] = [];
    let now = 0;
    for (;;) {
      if (path.challengeDue !== undefined) {
        times.push(now);
        sent.push(sendChallenge(path, now));
      }
      now = path.timeout;
      if (sent.length === 3) break;
      assert.equal(path.onTimeout(now), undefined);
    }
    assert.deepEqual(times, [0, 333, 999]);
    assert.notDeepEqual(sent[0], sent[1]);
    assert.equal(path.onResponse(sent[0] ?? new Uint8Array(8), 0, now), true);
  });

  test('it is abandoned after three probe timeouts, of this path or a new one (§8.2.4)', () => {
    for (const { probeTimeout, expected } of [
      { probeTimeout: 100, expected: 3 * 999 },
      { probeTimeout: 2000, expected: 6000 },
    ]) {
      const path = makePath('home:1');
      path.startValidation(probeTimeout, 1000);
      let now = 1000;
      let result: 'failed' | undefined;
      while (result === undefined) {
        if (path.challengeDue !== undefined) sendChallenge(path, now);
        now = path.timeout;
        result = path.onTimeout(now);
      }
      assert.equal(now, 1000 + expected);
      assert.equal(path.isValidating, false);
      assert.equal(path.isValidated, false);
      assert.equal(path.timeout, Infinity);
    }
  });

  test('a challenge that could not be sent does not keep the validation alive', () => {
    const path = makePath('home:1');
    path.startValidation(100, 0);
    assert.equal(path.onTimeout(path.timeout), 'failed');
  });

  test('a small challenge validates the address alone; another one must show the size (§8.2.1)', () => {
    const path = makePath('home:1');
    path.startValidation(100, 0);
    const small = sendChallenge(path, 0, false);
    assert.equal(path.onResponse(small, 0, 50), true);
    assert.equal(path.isValidated, true);
    assert.equal(path.isValidating, true);
    const large = sendChallenge(path, 50);
    assert.equal(path.onResponse(large, 0, 100), true);
    assert.equal(path.isValidating, false);
  });

  test('a validation in progress is not started again', () => {
    const path = makePath('home:1');
    path.startValidation(100, 0);
    const { timeout } = path;
    path.startValidation(100, 500);
    assert.equal(path.timeout, timeout);
  });

  test('beyond the bound the oldest challenge cannot be answered any more', () => {
    const path = makePath('home:1');
    // Challenges leave as soon as they are due, up to a deadline that is far away.
    path.startValidation(100_000, 0);
    const first = sendChallenge(path, -1e9);
    for (let i = 0; i < MAX_CHALLENGES; i++) {
      assert.equal(path.onTimeout(0), undefined);
      sendChallenge(path, -1e9);
    }
    assert.equal(path.onResponse(first, 0, 0), false);
  });
});

describe('answers to challenges (RFC 9000 §8.2.2)', () => {
  test('the data of each challenge is sent back once, in order', () => {
    const path = makePath('home:1');
    const bytes = Buffer.from('..12345678abcdefgh');
    path.onChallenge(bytes, 2);
    path.onChallenge(bytes, 10);
    bytes.fill(0);
    for (const expected of ['12345678', 'abcdefgh']) {
      assert.equal(Buffer.from(path.responseDue ?? []).toString(), expected);
      path.onResponseSent();
    }
    assert.equal(path.responseDue, undefined);
  });

  test('beyond the bound the oldest challenge is forgotten', () => {
    const path = makePath('home:1');
    for (let i = 0; i < MAX_RESPONSES + 3; i++) path.onChallenge(new Uint8Array(8).fill(i), 0);
    const answers: (number | undefined)[] = [];
    for (; path.responseDue !== undefined; path.onResponseSent()) {
      answers.push(path.responseDue[0]);
    }
    assert.deepEqual(answers, [3, 4, 5, 6]);
  });
});
