import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { atOnce } from '@weir/io/time';
import { UsersByKey } from '../../../../src/protocols/users/account-table.ts';

interface NamedKey {
  readonly key: string;
  readonly name?: string;
}

const tableOf = (...users: NamedKey[]): UsersByKey =>
  atOnce(
    UsersByKey.of(
      users,
      ({ key }) => Buffer.from(key),
      ({ name }) => ({ label: name }),
    ),
  );

describe('users that are found by the key that they send', () => {
  test('have the label that they were given', () => {
    const table = tableOf({ key: 'k', name: 'ann' }, { key: 'l' });
    assert.equal(table.find(Buffer.from('k'))?.label, 'ann');
    assert.equal(table.find(Buffer.from('l'))?.label, undefined);
  });

  test('are not found by another key', () => {
    assert.equal(tableOf({ key: 'k' }).find(Buffer.from('kk')), undefined);
    assert.equal(tableOf().find(Buffer.alloc(0)), undefined);
  });

  test('with one key are the last of them', () => {
    const table = tableOf({ key: 'k', name: 'ann' }, { key: 'k', name: 'bob' });
    assert.equal(table.find(Buffer.from('k'))?.label, 'bob');
  });

  test('are accepted by the credential of their key, which is not the key', () => {
    const table = tableOf({ key: 'k' });
    const { credential = '' } = table.find(Buffer.from('k')) ?? {};
    assert.ok(table.accepts(credential));
    assert.ok(!table.accepts('k'));
    assert.ok(!tableOf({ key: 'l' }).accepts(credential));
  });

  test('are added one in each step', () => {
    const steps = UsersByKey.of(['k', 'l'], (key) => Buffer.from(key));
    assert.equal(steps.next().done, false);
    assert.equal(steps.next().done, false);
    assert.equal(steps.next().done, true);
  });
});
