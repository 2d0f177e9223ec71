import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { LocalHttpError } from '@weir/server/local-http';
import { Sessions } from '../../../../src/dashboard/server/sessions.ts';

const HOUR = 3_600_000;

const status = (code: number) => (error: unknown) =>
  error instanceof LocalHttpError && error.status === code;

describe('the sessions of a dashboard', () => {
  test('a link opens one session', () => {
    const sessions = new Sessions(() => 0);
    const token = sessions.newLink();
    const { cookie, key } = sessions.open(token);
    assert.ok(sessions.find(cookie, key));
    assert.throws(() => sessions.open(token), status(401));
  });

  test('a new link replaces the one that was not used', () => {
    const sessions = new Sessions(() => 0);
    const first = sessions.newLink();
    const second = sessions.newLink();
    assert.throws(() => sessions.open(first), status(401));
    assert.ok(sessions.open(second));
  });

  test('a link is too old after an hour', () => {
    let now = 0;
    const sessions = new Sessions(() => now);
    const token = sessions.newLink();
    now = HOUR;
    assert.throws(() => sessions.open(token), status(401));
  });

  test('a session needs its cookie and its key', () => {
    const sessions = new Sessions(() => 0);
    const one = sessions.open(sessions.newLink());
    const two = sessions.open(sessions.newLink());
    assert.throws(() => sessions.find(one.cookie, two.key), status(401));
    assert.throws(() => sessions.find(one.cookie, ''), status(401));
    assert.throws(() => sessions.find(undefined, one.key), status(401));
  });

  test('a session ends after half a day without use, but not while it has a stream', () => {
    let now = 0;
    const sessions = new Sessions(() => now);
    const { cookie, key } = sessions.open(sessions.newLink());
    now += 12 * HOUR - 1;
    const session = sessions.find(cookie, key);
    session.streams = 1;
    now += 24 * HOUR;
    sessions.find(cookie, key);
    session.streams = 0;
    now += 12 * HOUR;
    assert.throws(() => sessions.find(cookie, key), status(401));
  });

  test('wrong tokens, however many, do not keep out the one of the link', () => {
    const sessions = new Sessions(() => 0);
    const token = sessions.newLink();
    for (let n = 0; n < 1000; n++) assert.throws(() => sessions.open(`wrong ${n}`), status(401));
    assert.ok(sessions.open(token));
  });

  test('at the bound, the session that was used least recently gives way', () => {
    let now = 0;
    const sessions = new Sessions(() => now);
    const opened = Array.from({ length: 16 }, () => {
      now++;
      return sessions.open(sessions.newLink());
    });
    now++;
    const [first, second] = opened;
    assert.ok(first && second);
    sessions.find(first.cookie, first.key);
    now++;
    sessions.open(sessions.newLink());
    assert.ok(sessions.find(first.cookie, first.key));
    assert.throws(() => sessions.find(second.cookie, second.key), status(401));
  });
});
