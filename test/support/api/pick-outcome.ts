import assert from 'node:assert/strict';
import { BadRequest } from '../../../packages/server/src/api/http/response.ts';
import { parsePickBody } from '../../../packages/server/src/api/requests.ts';

/** What becomes of the body of a pick: `target NAME`, or the text of its rejection. */
export function pickOutcome(text: string): string {
  try {
    return `target ${parsePickBody(Buffer.from(text))}`;
  } catch (error) {
    assert.ok(error instanceof BadRequest);
    return error.message;
  }
}
