import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Reply } from './api-client.ts';
import { serve, type Carrier, type Served } from './api-harness.ts';
import { errorOf, put, refused } from './api-pick-support.ts';

const WRONG_SHAPE = 'Failed to deserialize the JSON body into the target type:';

export function ifMatchSuite(carrier: Carrier): void {
  describe('If-Match of PUT /v1/routes/{group}', () => {
    const withTag = (api: Served, tag: string): Promise<Reply> =>
      api.client.pick('default', 'osaka', { 'if-match': tag });

    test('left out or * is no condition', async () => {
      await using api = await serve(carrier);
      for (const tag of ['*', ' * ', '*\t']) {
        assert.equal((await withTag(api, tag)).status, 200, tag);
        assert.deepEqual(api.app.picks.at(-1)?.ifMatch, { kind: 'any' });
      }
    });

    test('with the tag of the file lets the edit through', async () => {
      await using api = await serve(carrier);
      const { headers } = await api.client.get('/v1/routes');
      const reply = await withTag(api, headers['etag'] ?? '');
      assert.equal(reply.status, 200);
      const next = await api.client.pick('default', 'auto', {
        'if-match': reply.headers['etag'] ?? '',
      });
      assert.equal(next.status, 200);
    });

    test('with another tag is 409 with the current one, and the file is untouched', async () => {
      await using api = await serve(carrier);
      const before = api.app.file;
      const upper = api.app.etag.toUpperCase();
      for (const tag of ['"x"', upper]) {
        const reply = await withTag(api, tag);
        assert.equal(reply.status, 409, tag);
        assert.equal(reply.headers['etag'], api.app.etag);
        assert.equal(
          errorOf(reply),
          `the config file has changed since it was read; its ETag is now ${api.app.etag}`,
        );
      }
      assert.equal(api.app.file, before);
    });

    test('that is weak, a list, unquoted or not ASCII is 400', async () => {
      await using api = await serve(carrier);
      const tag = api.app.etag;
      for (const bad of [`W/${tag}`, tag.slice(1), '"\xe9"']) {
        const reply = await withTag(api, bad);
        await refused(api, reply, 'If-Match takes');
        assert.match(errorOf(reply), /^If-Match takes .*\*.*entity tag.*ETag header/);
      }
    });

    test('given twice is a list', async () => {
      await using api = await serve(carrier);
      const reply = await api.client.ask('PUT', '/v1/routes/default', {
        headers: { 'content-type': 'application/json', 'if-match': [api.app.etag, api.app.etag] },
        body: '{"target":"osaka"}',
      });
      await refused(api, reply, 'If-Match takes');
    });

    test('and the body are looked at before the edit lock, the body first', async () => {
      await using api = await serve(carrier);
      const held = api.app.hold('lock');
      const waiting = api.client.pick('default', 'osaka');
      await held.reached;
      assert.equal((await withTag(api, 'W/"x"')).status, 400);
      const both = await put(api, '{}', { 'if-match': 'W/"x"' });
      assert.equal(both.status, 400);
      assert.ok(errorOf(both).startsWith(WRONG_SHAPE));
      held.release();
      assert.equal((await waiting).status, 200);
    });

    test('does not count for a reload', async () => {
      await using api = await serve(carrier);
      const { status } = await api.client.ask('POST', '/v1/reload', {
        headers: { 'if-match': 'x' },
      });
      assert.equal(status, 200);
    });
  });
}
