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

test('of errors at one place the one that was found first is kept', () => {
  const errors = new FirstError();
  const [first, second] = [at(3), at(3)];
  errors.add(first);
  errors.add(second);
  assert.throws(
    () => errors.throwIfAny(),
    (error) => error === first,
  );
});

test('an error that is no DecodeError is a defect, and not kept', () => {
  const errors = new FirstError();
  const defect = new RangeError('a defect');
  assert.throws(
    () =>
      errors.attempt(() => {
        throw defect;
      }),
    (error) => error === defect,
  );
  errors.throwIfAny();
});
