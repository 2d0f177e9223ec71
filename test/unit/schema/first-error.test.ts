import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DecodeError, FirstError } from '../../../src/schema/errors.ts';

const at = (start: number): DecodeError => new DecodeError(`at ${start}`, { start, end: start });

test('the error with the first place is kept, whatever the order of finding', () => {
  const errors = new FirstError();
  for (const start of [5, 2, 9]) {
    errors.attempt(() => {
      throw at(start);
    });
  }
  assert.throws(() => errors.throwIfAny(), /^DecodeError: at 2$/);
});

test('nothing is thrown when nothing was found', () => {
  const errors = new FirstError();
  errors.attempt(() => undefined);
  errors.throwIfAny();
});
