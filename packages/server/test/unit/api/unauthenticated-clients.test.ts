import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { describe, test } from 'node:test';
import { disposable, open } from '../../../../../test/support/data/address.ts';
import { readAll, readHead } from '../../../../../test/support/read.ts';
import { serve, type Carrier, type Served } from '../../conformance/api-harness.ts';

/** Of one source. */
const MOST = 128;
const SECRET = 'correct-horse';

const request = (secret: string): string =>
  `GET /v1/health HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${secret}\r\n\r\n`;

/** A connection that has sent a request with that secret, and the status of the response. */
async function asked(api: Served, secret: string): Promise<{ socket: Socket; status: string }> {
  const socket = await open(api.client.address);
  socket.write(request(secret));
  const [, status = ''] = (await readHead(socket)).split(' ');
  return { socket, status };
}

for (const carrier of ['tcp', 'unix'] as const satisfies readonly Carrier[]) {
  describe(`connections to the API over ${carrier}`, () => {
    test('beyond a number close the oldest that has shown no secret', async () => {
      await using api = await serve(carrier, SECRET);
      using stack = new DisposableStack();
      const honest = await asked(api, SECRET);
      stack.use(disposable(honest.socket));
      assert.equal(honest.status, '200');
      const silent = await open(api.client.address);
      stack.use(disposable(silent));
      const closed = readAll(silent);
      for (let count = 0; count < MOST; count++) {
        stack.use(disposable(await open(api.client.address)));
      }
      await closed;
      assert.equal(honest.socket.destroyed, false);
      honest.socket.write(request(SECRET));
      // After the body of the first response.
      assert.match(await readHead(honest.socket), /HTTP\/1\.1 200 /);
    });

    test('end with the first request without the secret, whatever is pipelined after it', async () => {
      await using api = await serve(carrier, SECRET);
      using socket = disposable(await open(api.client.address));
      socket.write(request('wrong').repeat(200) + request(SECRET));
      const { data } = await readAll(socket);
      const responses = data.toString().match(/HTTP\/1\.1 \d+/g);
      assert.deepEqual(responses, ['HTTP/1.1 401']);
      assert.match(data.toString(), /\r\nConnection: close\r\n/);
    });
  });
}
