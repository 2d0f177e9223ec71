import assert from 'node:assert/strict';
import { DialError } from '@weir/io';

/** Checks the error of a dial: its code and its text. */
export const dialError =
  (code: string, message: string) =>
  (error: unknown): boolean => {
    assert.ok(error instanceof DialError, String(error));
    assert.deepEqual([error.code, error.message], [code, message]);
    return true;
  };
