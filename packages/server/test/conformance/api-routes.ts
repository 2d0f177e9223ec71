import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ControlError } from '../../src/api/contract.ts';
import { serve, type Carrier } from './api-harness.ts';

export function routesSuite(carrier: Carrier): void {
  describe('GET /v1/routes', () => {
    test('returns the view with every field, null where there is nothing', async () => {
      await using api = await serve(carrier);
      await api.client.pick('a/b', 'auto');
      assert.deepEqual(await api.client.json('GET', '/v1/routes'), {
        default: { pick: null, target: 'tokyo' },
        groups: [
          { name: 'Video Streaming', pick: null, inherit: 'default', target: 'tokyo' },
          { name: 'a/b', pick: 'auto', inherit: { group: 'Video Streaming' }, target: 'auto' },
          { name: 'größe', pick: null, inherit: 'default', target: 'tokyo' },
          { name: '日本', pick: null, inherit: 'default', target: 'tokyo' },
        ],
        targets: [
          { name: 'tokyo', kind: 'outbound' },
          { name: 'auto', kind: 'balancer' },
          { name: 'osaka', kind: 'node' },
          { name: 'direct', kind: 'direct' },
          { name: 'blackhole', kind: 'blackhole' },
        ],
      });
    });

    test("the file's tag is in the ETag header and not in the body", async () => {
      await using api = await serve(carrier);
      const { headers, text } = await api.client.get('/v1/routes');
      assert.match(headers['etag'] ?? '', /^"[0-9a-f]{64}"$/);
      assert.equal(headers['etag'], api.app.etag);
      assert.doesNotMatch(text, /[0-9a-f]{64}/);
    });

    test('two reads have the same tag exactly when the file is the same', async () => {
      await using api = await serve(carrier);
      const tag = async () => (await api.client.get('/v1/routes')).headers['etag'];
      const first = await tag();
      assert.equal(await tag(), first);
      const before = api.app.file;
      api.app.file += ' ';
      assert.notEqual(await tag(), first);
      api.app.file = before;
      assert.equal(await tag(), first);
    });

    test('what cannot be read or does not parse has the status of its error', async () => {
      await using api = await serve(carrier);
      for (const [code, status] of [
        ['invalid', 422],
        ['failed', 500],
      ] as const) {
        api.app.routesError = new ControlError(code, 'weir.toml: no "path"');
        const { status: got, headers, text } = await api.client.get('/v1/routes');
        assert.equal(got, status);
        assert.equal(headers['content-type'], 'application/json');
        assert.deepEqual(JSON.parse(text), { error: 'weir.toml: no "path"' });
      }
    });
  });
}
