import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { silentLogger } from '@weir/base/log';
import { ProtocolError } from '@weir/io';
import { InboundMemory } from '../../../../src/protocols/inbounds/inbound-memory.ts';
import {
  logAcceptFailure,
  logRejection,
  RejectedClientError,
} from '../../../../src/protocols/inbounds/handshake.ts';
import { ManualClock } from '../../../../../../test/support/manual-clock.ts';

const unauthenticated = new RejectedClientError('trojan: invalid user');

function rejecting() {
  const lines: string[] = [];
  const clock = new ManualClock();
  const log = { ...silentLogger, info: (line: string) => void lines.push(line) };
  const inbound = { log, tag: 'in', clock, memory: new InboundMemory() };
  const reject = (source: string | undefined, error: unknown = unauthenticated): string[] => {
    logRejection(error, inbound, source);
    return lines.splice(0);
  };
  return { reject, clock };
}

describe('the log of rejected clients', () => {
  test('has a line for each address at once, and none for other errors', () => {
    const { reject } = rejecting();
    assert.deepEqual(reject('192.0.2.1'), ['inbound in: rejected 192.0.2.1: trojan: invalid user']);
    assert.deepEqual(reject('192.0.2.2'), ['inbound in: rejected 192.0.2.2: trojan: invalid user']);
    assert.deepEqual(reject(undefined), [
      'inbound in: rejected a local client: trojan: invalid user',
    ]);
    assert.deepEqual(reject('192.0.2.3', new ProtocolError('no end of line')), []);
  });

  test('has one line a minute for an address, with the number of those suppressed', () => {
    const { reject, clock } = rejecting();
    assert.equal(reject('192.0.2.1').length, 1);
    for (let i = 0; i < 59; i++) {
      clock.advance(1_000);
      assert.deepEqual(reject('192.0.2.1'), []);
    }
    clock.advance(1_000);
    const line = 'inbound in: rejected 192.0.2.1: trojan: invalid user';
    assert.deepEqual(reject('192.0.2.1'), [`${line} (59 more since the last such line)`]);
    clock.advance(1_000);
    assert.deepEqual(reject('192.0.2.1'), []);
    clock.advance(60_000);
    assert.deepEqual(reject('192.0.2.1'), [`${line} (1 more since the last such line)`]);
    clock.advance(60_000);
    assert.deepEqual(reject('192.0.2.1'), [line]);
  });

  test('has 1,024 lines a minute for addresses, and one for all others', () => {
    const { reject, clock } = rejecting();
    const rejectMany = (): string[] =>
      Array.from({ length: 3_000 }, (_, i) => reject(`2001:db8::${i.toString(16)}`)).flat();
    assert.equal(rejectMany().length, 1_025);
    assert.equal(rejectMany().length, 0);
    clock.advance(60_000);
    const others = reject('2001:db8::bb7');
    assert.deepEqual(others, ['inbound in: rejected 2001:db8::bb7: trojan: invalid user']);
    assert.ok(rejectMany().length <= 1_025);
  });

  test('has the number of rejections of other addresses', () => {
    const { reject, clock } = rejecting();
    for (let i = 0; i < 1_024 + 11; i++) reject(`2001:db8::${i.toString(16)}`);
    clock.advance(60_000);
    for (let i = 0; i < 1_024; i++) reject(`2001:db8::${i.toString(16)}`);
    assert.deepEqual(reject('192.0.2.1'), [
      'inbound in: rejected 192.0.2.1: trojan: invalid user' +
        ' (10 more from other clients since the last such line)',
    ]);
  });
});

test('a client that this side could not serve is an error, once a minute', () => {
  const lines: string[] = [];
  const clock = new ManualClock();
  const log = { ...silentLogger, error: (line: string) => void lines.push(line) };
  const inbound = { log, tag: 'in', clock, memory: new InboundMemory() };
  const fail = (): void => logAcceptFailure(new Error('no memory'), inbound);
  for (let i = 0; i < 3; i++) fail();
  clock.advance(60_000);
  fail();
  const line = 'inbound in: a client was not accepted: no memory';
  assert.deepEqual(lines, [line, `${line} (2 more since the last such line)`]);
});
