import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { open } from '../../../../test/support/data/address.ts';
import { readAll } from '../../../../test/support/read.ts';
import type { ApiClient } from './api-client.ts';
import { serve, type Carrier } from './api-harness.ts';
import { CODE_POINT } from '../../../../test/support/data/code-point.ts';

const line = fc.constantFrom(
  'GET /v1/health HTTP/1.1',
  'PUT /v1/routes/default HTTP/1.1',
  'DELETE /v1/connections HTTP/1.1',

  'GET /v1/traffic HTTP/1.1',
  'POST /v1/reload HTTP/1.0',
  'BREW /v1/health HTTP/1.1',
  'GET * HTTP/1.1',

  'Host: localhost',
  'Content-Length: 5',
  'Content-Length: -1',
  'Transfer-Encoding: chunked',
  '',

  'Expect: 100-continue',
  'Connection: close',
  'Connection: upgrade',
  'Upgrade: websocket',
  'a',
  '0',
  '5',

  'Authorization: Bearer x',
  'Content-Type: application/json',
  'If-Match: "x"',
  '{"target":"osaka"}',
  ':',
);
const shaped = fc
  .array(
    fc.oneof(
      { weight: 6, arbitrary: line },
      fc.string({ unit: CODE_POINT, maxLength: 40, size: 'max' }),
    ),
    {
      maxLength: 30,
      size: 'max',
    },
  )
  .map((lines) => Buffer.from(lines.join('\r\n'), 'latin1'));
const bytes = fc.uint8Array({ maxLength: 400, size: 'max' }).map((values) => Buffer.from(values));
const input = fc.oneof({ weight: 3, arbitrary: shaped }, bytes);

/** Sends the bytes in two parts and reads to the end: a response, or a closed connection. */
async function exchange(client: ApiClient, sent: Buffer, split: number): Promise<string> {
  const socket = await open(client.address);
  const at = split % (sent.length + 1);
  socket.write(sent.subarray(0, at));
  socket.end(sent.subarray(at));
  const { data } = await readAll(socket);
  socket.destroy();
  return data.toString('latin1');
}

export function fuzzSuite(carrier: Carrier): void {
  describe('any bytes', () => {
    for (const secret of [undefined, 'sesame']) {
      test(`get a response or a closed connection, ${secret === undefined ? 'without' : 'with'} a secret`, async () => {
        await using api = await serve(carrier, secret);
        await fc.assert(
          fc.asyncProperty(input, fc.nat(), async (sent, split) => {
            const reply = await exchange(api.unauthenticated, sent, split);
            if (reply !== '') assert.match(reply, /^HTTP\/1\.1 \d{3} /);
            if (secret !== undefined) {
              const statuses = Array.from(
                reply.matchAll(/^HTTP\/1\.1 (\d{3})/gm),
                ([, status]) => status,
              );
              for (const status of statuses) assert.match(status ?? '', /^(400|401|408|413|431)$/);
            }
          }),
          { numRuns: 250 },
        );
        assert.equal((await api.client.get('/v1/health')).status, 200);
        if (secret !== undefined) assert.deepEqual([api.app.picks, api.app.reloads], [[], 0]);
        assert.deepEqual(api.log.lines, []);
      });
    }
  });
}
