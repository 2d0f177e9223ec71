import assert from 'node:assert/strict';
import { Agent } from 'node:http';
import { describe, test } from 'node:test';
import { readAll, readUpTo } from '../../../../test/support/read.ts';
import { serve, type Carrier } from './api-harness.ts';
import { errorOf, put, refused } from './api-pick-support.ts';

const LIMIT = 2_097_152;
const NO_TYPE = 'Expected request with `Content-Type: application/json`';
const NO_JSON = 'Failed to parse the request body as JSON:';
const WRONG_SHAPE = 'Failed to deserialize the JSON body into the target type:';
const TOO_LONG = 'Failed to buffer the request body:';

/** A pick of that many bytes. */
const longBody = (length: number): string => {
  const frame = '{"target":""}';
  return `{"target":"${'x'.repeat(length - frame.length)}"}`;
};

export function pickBodySuite(carrier: Carrier): void {
  describe('the body of PUT /v1/routes/{group}', () => {
    test('needs a content type of JSON', async () => {
      await using api = await serve(carrier);
      const body = '{"target":"osaka"}';
      for (const type of ['text/plain', 'json', 'application/jsonp', '']) {
        const reply = await put(api, body, { 'content-type': type });
        await refused(api, reply, NO_TYPE);
        assert.equal(errorOf(reply), NO_TYPE);
      }
      await refused(api, await api.client.ask('PUT', '/v1/routes/default', { body }), NO_TYPE);
      await refused(api, await api.client.ask('PUT', '/v1/routes/default'), NO_TYPE);
    });

    test('may name a character set, in any letter case', async () => {
      await using api = await serve(carrier);
      for (const type of [
        'application/json',
        'application/json; charset=utf-8',
        'Application/JSON',
        'application/json;',
        'application/json ;charset="utf-8"',
        'application/vnd.api+json',
      ]) {
        const { status } = await put(api, '{"target":"osaka"}', { 'content-type': type });
        assert.equal(status, 200, type);
      }
    });

    test('is JSON, an object with target, and nothing else', async () => {
      await using api = await serve(carrier);
      for (const body of ['', '{"target":', Buffer.from('{"target":"\xff"}', 'latin1')]) {
        await refused(api, await put(api, body), NO_JSON);
      }
      for (const body of ['[]', '{"target":1}', '{"target":"osaka","x":1}']) {
        await refused(api, await put(api, body), WRONG_SHAPE);
      }
    });

    test(`of ${LIMIT} bytes is read, and one of a byte more is refused`, async () => {
      await using api = await serve(carrier);
      await refused(api, await put(api, longBody(LIMIT + 1)), TOO_LONG);
      await refused(api, await put(api, longBody(LIMIT * 2)), TOO_LONG);
      const reply = await put(api, longBody(LIMIT));
      assert.equal(reply.status, 422);
      assert.equal(api.app.picks.length, 1);
    });

    test('is limited without a length, too', async () => {
      await using api = await serve(carrier);
      const chunked = { 'transfer-encoding': 'chunked' };
      await refused(api, await put(api, longBody(LIMIT + 1), chunked), TOO_LONG);
      assert.equal((await put(api, longBody(LIMIT), chunked)).status, 422);
      assert.equal((await put(api, '{"target":"osaka"}', chunked)).status, 200);
    });

    test('that is too long is refused at once when the client expects 100 Continue', async () => {
      await using api = await serve(carrier);
      const reply = await api.client.raw(
        'PUT /v1/routes/default HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n' +
          `Content-Length: ${LIMIT + 1}\r\nExpect: 100-continue\r\n\r\n`,
      );
      assert.match(reply, /^HTTP\/1\.1 400 [^]*Failed to buffer the request body:/);
    });

    test('that is far too long is refused without being read', async () => {
      await using api = await serve(carrier);
      const reply = await api.client.raw(
        'PUT /v1/routes/default HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n' +
          `Content-Length: ${2 ** 40}\r\n\r\n{`,
        { end: false },
      );
      assert.match(reply, /^HTTP\/1\.1 400 [^]*Failed to buffer the request body:/);
    });

    test('that breaks its chunking is 400', async () => {
      await using api = await serve(carrier);
      const reply = await api.client.raw(
        'PUT /v1/routes/default HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n' +
          'Transfer-Encoding: chunked\r\n\r\nzz\r\n',
      );
      assert.match(reply, /^HTTP\/1\.1 400 /);
      assert.deepEqual(api.app.picks, []);
    });

    test('that is not wanted is skipped, and the connection stays open', async () => {
      await using api = await serve(carrier);
      const agent = new Agent({ keepAlive: true, maxSockets: 1 });
      try {
        for (let i = 0; i < 5; i++) {
          const refusal = await api.client.ask('PUT', '/v1/routes/default', {
            headers: { 'content-type': 'text/plain' },
            body: 'x'.repeat(300_000),
            agent,
          });
          assert.equal(refusal.status, 400);
          assert.equal((await api.client.get('/v1/health', { agent })).status, 200);
        }
        assert.equal(Object.values(agent.freeSockets).flat().length, 1);
      } finally {
        agent.destroy();
      }
    });

    test('that arrives after its response does not abort the response', async () => {
      await using api = await serve(carrier);
      const socket = await api.client.connect();
      socket.write(
        'PUT /v1/routes/default HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\n' +
          'Connection: close\r\nContent-Length: 100000\r\n\r\n',
      );
      await readUpTo(socket, 1);
      socket.write('x'.repeat(100_000));
      const { data, clean } = await readAll(socket);
      assert.match(data.toString(), /^TTP\/1\.1 400 [^]*Expected request with/);
      assert.ok(clean);
      socket.destroy();
    });
  });
}
