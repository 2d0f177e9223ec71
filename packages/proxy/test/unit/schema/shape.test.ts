import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  anything,
  array,
  disclosed,
  located,
  record,
  spanned,
  str,
  u16,
  variant,
} from '../../../src/schema/decoder.ts';
import { DecodeError } from '../../../src/schema/errors.ts';
import { DISCLOSURE, plainDefault } from '../../../src/schema/shape.ts';
import { alias, fallback, optional, struct } from '../../../src/schema/struct.ts';
import { node } from '../../../../../test/support/schema/nodes.ts';

const port = { type: 'integer', minimum: 0, maximum: 65_535 };

test('a table has the keys that a document may have, those that it must, and no others', () => {
  const { shape } = struct(
    {
      tag: str,
      listenPort: fallback(u16, 80),
      users: alias(array(str), 'clients'),
      level: optional(variant('one', 'two')),
    },
    { tag: 'names it' },
  );
  assert.deepEqual(shape, {
    type: 'object',
    properties: {
      tag: { type: 'string', description: 'names it' },
      listen_port: { ...port, default: 80 },
      users: { type: 'array', items: { type: 'string' } },
      clients: { type: 'array', items: { type: 'string' } },
      level: { type: 'string', enum: ['one', 'two'] },
    },
    required: ['tag'],
    additionalProperties: false,
  });
});

test('a default is shown where a document can write it', () => {
  for (const value of ['text', 1.5, true, []]) assert.deepEqual(plainDefault(value), value);
  assert.equal(plainDefault(5n), 5);
  for (const value of [undefined, ['a'], {}]) assert.equal(plainDefault(value), undefined);
});

test('lists and tables of any keys have the shape of their items, if those have one', () => {
  assert.deepEqual(array(anything).shape, { type: 'array' });
  assert.deepEqual(array(u16).shape, { type: 'array', items: port });
  assert.deepEqual(record(anything).shape, { type: 'object' });
  assert.deepEqual(record(u16).shape, { type: 'object', additionalProperties: port });
});

test('a decoder around another one has its shape', () => {
  assert.deepEqual(located(u16).shape, port);
  assert.deepEqual(spanned(struct({})).shape, struct({}).shape);
  assert.deepEqual(located(anything).shape, {});
  assert.deepEqual(disclosed(u16).shape, { ...port, [DISCLOSURE]: 'public' });
});

test('a table of any keys has their values, or the first error of one', () => {
  const ports = record(u16);
  assert.deepEqual(
    ports(node({ a: 1n, b: 2n })),
    new Map([
      ['a', 1],
      ['b', 2],
    ]),
  );
  assert.throws(() => ports(node({ a: 1n, b: 'x', c: 'y' })), /string "x", expected u16/);
  assert.throws(() => ports(node([])), DecodeError);
});
