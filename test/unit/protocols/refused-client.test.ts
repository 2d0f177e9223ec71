import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { silentLogger } from '../../../src/log/output.ts';
import { ProtocolError } from '../../../src/net/errors.ts';
import { InboundMemory } from '../../../src/protocols/inbound-memory.ts';
import { RefusedClientError, tellOfRefusal } from '../../../src/protocols/refused-client.ts';
import { RefusalTable } from '../../../src/protocols/refusal-table.ts';
import { ManualClock } from '../../support/manual-clock.ts';

const stranger = new RefusedClientError('trojan: invalid user');

function listening() {
  const lines: string[] = [];
  const clock = new ManualClock();
  const log = { ...silentLogger, info: (line: string) => void lines.push(line) };
  const news = { log, tag: 'in', clock, memory: new InboundMemory() };
  const refuse = (source: string | undefined, error: unknown = stranger): string[] => {
    tellOfRefusal(error, news, source);
    return lines.splice(0);
  };
  return { refuse, clock };
}

describe('the log of refused clients', () => {
  test('tells of each address at once, and of no garbage', () => {
    const { refuse } = listening();
    assert.deepEqual(refuse('192.0.2.1'), [
      'inbound in: 192.0.2.1 was turned away: trojan: invalid user',
    ]);
    assert.deepEqual(refuse('192.0.2.2'), [
      'inbound in: 192.0.2.2 was turned away: trojan: invalid user',
    ]);
    assert.deepEqual(refuse(undefined), [
      'inbound in: a local client was turned away: trojan: invalid user',
    ]);
    assert.deepEqual(refuse('192.0.2.3', new ProtocolError('no end of line')), []);
  });

  test('tells of an address once a minute, with the number of those before', () => {
    const { refuse, clock } = listening();
    assert.equal(refuse('192.0.2.1').length, 1);
    for (let i = 0; i < 59; i++) {
      clock.advance(1_000);
      assert.deepEqual(refuse('192.0.2.1'), []);
    }
    clock.advance(1_000);
    const line = 'inbound in: 192.0.2.1 was turned away: trojan: invalid user';
    assert.deepEqual(refuse('192.0.2.1'), [`${line} (59 times more since the last such line)`]);
    clock.advance(1_000);
    assert.deepEqual(refuse('192.0.2.1'), []);
    clock.advance(60_000);
    assert.deepEqual(refuse('192.0.2.1'), [`${line} (once more since the last such line)`]);
    clock.advance(60_000);
    assert.deepEqual(refuse('192.0.2.1'), [line]);
  });

  test('has 1,024 lines a minute for addresses, and one for all others', () => {
    const { refuse, clock } = listening();
    const knock = (): string[] =>
      Array.from({ length: 3_000 }, (_, i) => refuse(`2001:db8::${i.toString(16)}`)).flat();
    assert.equal(knock().length, 1_025);
    assert.equal(knock().length, 0);
    clock.advance(60_000);
    const others = refuse('2001:db8::bb7');
    assert.deepEqual(others, ['inbound in: 2001:db8::bb7 was turned away: trojan: invalid user']);
    assert.ok(knock().length <= 1_025);
  });

  test('says how many others there were', () => {
    const { refuse, clock } = listening();
    for (let i = 0; i < 1_024 + 11; i++) refuse(`2001:db8::${i.toString(16)}`);
    clock.advance(60_000);
    for (let i = 0; i < 1_024; i++) refuse(`2001:db8::${i.toString(16)}`);
    assert.deepEqual(refuse('192.0.2.1'), [
      'inbound in: 192.0.2.1 was turned away: trojan: invalid user' +
        ' (others as well, 10 times since the last such line)',
    ]);
  });
});

test('a table of refusals keeps no more sources than it may', () => {
  const clock = new ManualClock();
  const table = new RefusalTable(clock, 2);
  const first = { untold: 0, others: false };
  assert.deepEqual([table.note('a'), table.note('b')], [first, first]);
  assert.deepEqual(table.note('c'), { untold: 0, others: true });
  clock.advance(30_000);
  assert.equal(table.note('a'), undefined);
  assert.equal(table.note('d'), undefined);
  clock.advance(30_000);
  assert.deepEqual(table.note('a'), { untold: 1, others: false });
  // The oldest goes, since it would be told of anyway.
  assert.deepEqual(table.note('d'), first);
  assert.deepEqual(table.note('b'), { untold: 1, others: true });
});
