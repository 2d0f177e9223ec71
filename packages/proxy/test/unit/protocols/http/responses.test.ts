import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { atOnce } from '@weir/io/time';
import { field } from '@weir/http/http1';
import { AccountTable } from '../../../../src/protocols/users/account-table.ts';
import { accountOf, basicCredentials } from '../../../../src/protocols/http/responses.ts';

const accounts = atOnce(
  AccountTable.of([
    { user: 'ann', pass: 'first' },
    { user: 'bob', pass: 'a:b' },
    { user: 'ann', pass: 'second' },
    { user: 'empty', pass: '' },
    { user: 'zoë', pass: 'pässword' },
    { user: 'bo', pass: 'bob' },
    { user: '', pass: 'nameless' },
  ]),
);

const sent = (value: string): string | undefined =>
  accountOf([field('Proxy-Authorization', value)], accounts)?.label;
const basic = (text: string): string => `Basic ${Buffer.from(text).toString('base64')}`;

describe('proxy credentials', () => {
  test('authenticate the user with the password', () => {
    assert.equal(sent(basic('bob:a:b')), 'bob');
    assert.equal(sent(basic('zoë:pässword')), 'zoë');
    assert.equal(sent(basic('empty:')), 'empty');
    assert.equal(sent(basic(':nameless')), '');
  });

  test('of a repeated user are the last ones', () => {
    assert.equal(sent(basic('ann:second')), 'ann');
    assert.equal(sent(basic('ann:first')), undefined);
  });

  test('are rejected when they are not exactly right', () => {
    for (const text of ['bob:A:b', 'bob:a', 'bob', 'Bob:a:b', 'nobody:', 'nobody:x', ':', '']) {
      assert.equal(sent(basic(text)), undefined, text);
    }
    assert.equal(sent('Basic'), undefined);
    assert.equal(sent('Basic !!!!'), undefined);
    assert.equal(sent(`x${basic('bob:a:b')}`), undefined);
    assert.equal(sent(`${basic('bob:a:b')} x`), undefined);
    assert.equal(sent(`Bearer ${Buffer.from('bob:a:b').toString('base64')}`), undefined);
    assert.equal(accountOf([], accounts), undefined);
  });

  test('take the scheme in any case, and no padding', () => {
    assert.equal(sent(basic('bob:a:b').replace('Basic', 'bAsIc ')), 'bob');
    assert.equal(sent(basic('bob:a:b').replaceAll('=', '')), 'bob');
  });

  test('that are sent twice are invalid', () => {
    const twice = field('Proxy-Authorization', basic('bob:a:b'));
    assert.equal(accountOf([twice, twice], accounts), undefined);
  });

  test('that an outbound sends are those that an inbound reads', () => {
    assert.equal(sent(basicCredentials({ user: 'zoë', pass: 'pässword' })), 'zoë');
  });
});
