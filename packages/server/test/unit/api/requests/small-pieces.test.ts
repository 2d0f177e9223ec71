import assert from 'node:assert/strict';
import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { test } from 'node:test';
import { readBody } from '../../../../src/api/requests.ts';
import { LocalExchange } from '../../../../src/local-http/local-exchange.ts';
import { uncollected } from '../../../../../../test/support/process/uncollected.ts';

const PIECES = 100;

/** A request whose body arrives in pieces of a byte, and the number of those that remained in memory up to its end. */
function requestInPieces() {
  const request = new IncomingMessage(new Socket());
  const refs: WeakRef<object>[] = [];
  const kept = { pieces: -1 };
  const pieces = async function* () {
    for (let index = 0; index < PIECES; index++) {
      const piece = Buffer.alloc(1, 'a');
      refs.push(new WeakRef(piece));
      yield piece;
    }
    // The last one may be referred to by the loop that reads it.
    kept.pieces = (await uncollected(refs.slice(0, -1))).length;
  };
  const body = Object.assign(request, { [Symbol.asyncIterator]: pieces });
  return { request: body, kept };
}

test('a body of the API in small pieces takes the memory of its bytes', async () => {
  const { request, kept } = requestInPieces();
  assert.equal((await readBody(request)).toString(), 'a'.repeat(PIECES));
  assert.equal(kept.pieces, 0);
});

test('so does a body of a local server', async () => {
  const { request, kept } = requestInPieces();
  const exchange = new LocalExchange(request, new ServerResponse(request), {}, () => undefined);
  assert.equal((await exchange.readBody()).toString(), 'a'.repeat(PIECES));
  assert.equal(kept.pieces, 0);
});
