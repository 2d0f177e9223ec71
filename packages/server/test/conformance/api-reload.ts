import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ControlError } from '../../src/api/contract.ts';
import { APPLIED } from './api-fake.ts';
import { serve, type Carrier } from './api-harness.ts';

export function reloadSuite(carrier: Carrier): void {
  describe('POST /v1/reload', () => {
    test('an applied reload is its status and seven lists, in this order', async () => {
      await using api = await serve(carrier);
      const { status, text } = await api.client.ask('POST', '/v1/reload');
      assert.equal(status, 200);
      assert.deepEqual(JSON.parse(text), APPLIED);
      assert.deepEqual(Object.keys(JSON.parse(text) as object), [
        'status',
        'built',
        'swapped',
        'drained',
        'rebound',
        'restarted',
        'removed',
        'reused',
      ]);
    });

    test('an unchanged one is its status and nothing else', async () => {
      await using api = await serve(carrier);
      await api.client.ask('POST', '/v1/reload');
      const { status, text } = await api.client.ask('POST', '/v1/reload');
      assert.deepEqual([status, text], [200, '{"status":"unchanged"}']);
    });

    test('a refused configuration is 422, a failure of the surroundings 500, without an ETag', async () => {
      await using api = await serve(carrier);
      for (const [code, status] of [
        ['invalid', 422],
        ['failed', 500],
      ] as const) {
        api.app.reloadError = new ControlError(code, 'outbound x: no');
        const reply = await api.client.ask('POST', '/v1/reload');
        assert.equal(reply.status, status);
        assert.deepEqual(JSON.parse(reply.text), { error: 'outbound x: no' });
        assert.equal(reply.headers['etag'], undefined);
      }
    });

    test('a body is ignored, whatever it is', async () => {
      await using api = await serve(carrier);
      const { status } = await api.client.ask('POST', '/v1/reload', { body: '{"x"' });
      assert.equal(status, 200);
    });

    test('it is not done by GET', async () => {
      await using api = await serve(carrier);
      assert.equal((await api.client.get('/v1/reload')).status, 405);
      assert.equal(api.app.reloads, 0);
    });

    test('it does not wait for an edit', async () => {
      await using api = await serve(carrier);
      const held = api.app.hold('check');
      const edit = api.client.pick('default', 'osaka');
      await held.reached;
      assert.equal((await api.client.ask('POST', '/v1/reload')).status, 200);
      held.release();
      assert.equal((await edit).status, 200);
    });
  });
}
