import assert from 'node:assert/strict';
import { test } from 'node:test';
import { array, bool, str, u16 } from '../../../src/schema/decoder.ts';
import { DecodeError } from '../../../src/schema/errors.ts';
import { alias, fallback, optional, struct } from '../../../src/schema/struct.ts';
import { node, type Plain } from '../../../../../test/support/schema/nodes.ts';

const account = struct({ user: str, pass: str });
const listener = struct({
  tag: str,
  port: optional(u16),
  sniffing: fallback(bool, true),
  idleTimeout: optional(u16),
  users: alias(fallback(array(account), []), 'clients'),
});

/** The message and place of a refusal. */
function refusal(value: Plain): [string, number] {
  try {
    listener(node(value));
  } catch (error) {
    assert.ok(error instanceof DecodeError);
    return [error.message, error.span.start];
  }
  return assert.fail('it was accepted');
}

test('a table gives a typed value with its defaults', () => {
  const value: {
    readonly tag: string;
    readonly port: number | undefined;
    readonly sniffing: boolean;
    readonly users: readonly { readonly user: string; readonly pass: string }[];
  } = listener(node({ tag: 'a' }));
  const { tag, port, sniffing, users } = value;
  assert.deepEqual(
    { tag, port, sniffing, users },
    { tag: 'a', port: undefined, sniffing: true, users: [] },
  );
});

test('a property of several words is a key in snake case', () => {
  assert.equal(listener(node({ tag: 'a', idle_timeout: 5n })).idleTimeout, 5);
  assert.match(refusal({ tag: 'a', idleTimeout: 5n })[0], /^unknown field `idleTimeout`/);
});

test('an alias stands for its key, but not beside it', () => {
  const clients = [{ user: 'u', pass: 'p' }];
  assert.deepEqual(listener(node({ tag: 'a', clients })).users, clients);
  assert.deepEqual(refusal({ tag: 'a', users: [], clients }), ['duplicate field `users`', 5]);
});

test('an unknown key is refused at the key, with every name that would do', () => {
  assert.deepEqual(refusal({ tag: 'a', prot: 1n }), [
    'unknown field `prot`, expected one of `tag`, `port`, `sniffing`, `idle_timeout`, `users`, `clients`',
    3,
  ]);
  const names = (shape: Parameters<typeof struct>[0]): string => {
    try {
      struct(shape)(node({ x: 1n }));
    } catch (error) {
      return error instanceof Error ? error.message : '';
    }
    return '';
  };
  assert.equal(names({}), 'unknown field `x`, there are no fields');
  assert.equal(names({ a: str }), 'unknown field `x`, expected `a`');
  assert.equal(names({ a: str, b: str }), 'unknown field `x`, expected `a` or `b`');
});

test('keys that every object has are unknown too', () => {
  for (const name of ['constructor', 'toString', 'hasOwnProperty']) {
    assert.match(refusal({ [name]: 1n })[0], /^unknown field/);
  }
  const entries = new Map([['__proto__', { key: { start: 7, end: 8 }, value: node(1n) }]]);
  assert.throws(
    () => listener({ kind: 'table', span: { start: 0, end: 1 }, entries }),
    /unknown field `__proto__`/,
  );
});

test('a missing key is reported at the table', () => {
  assert.deepEqual(refusal({}), ['missing field `tag`', 0]);
  assert.deepEqual(refusal({ tag: 'a', users: [{ user: 'u' }] }), ['missing field `pass`', 5]);
});

test('a misspelt key is reported before the missing one', () => {
  assert.match(refusal({ tga: 'a' })[0], /^unknown field `tga`/);
});

test('the first error of a table is the first in the document', () => {
  assert.match(refusal({ port: 'x', tag: 5n, more: 1n })[0], /string "x", expected u16/);
  assert.match(refusal({ more: 1n, port: 'x', tag: 5n })[0], /unknown field `more`/);
});
