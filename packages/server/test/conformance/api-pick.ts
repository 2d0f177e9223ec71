import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, test } from 'node:test';
import { ControlError } from '../../src/api/contract.ts';
import { eventually } from '../../../../test/support/wait.ts';
import { APPLIED } from './api-fake.ts';
import { serve, type Carrier } from './api-harness.ts';
import { errorOf } from './api-pick-support.ts';

export function pickSuite(carrier: Carrier): void {
  describe('PUT /v1/routes/{group}', () => {
    test('writes the pick, reloads, and responds with the report and the new tag', async () => {
      await using api = await serve(carrier);
      const before = (await api.client.get('/v1/routes')).headers['etag'];
      const { status, headers, text } = await api.client.pick('default', 'osaka');
      assert.equal(status, 200);
      assert.deepEqual(JSON.parse(text), APPLIED);
      assert.notEqual(headers['etag'], before);
      assert.equal(headers['etag'], (await api.client.get('/v1/routes')).headers['etag']);
      assert.equal(api.app.pickOf('default'), 'osaka');
    });

    test('the same pick again writes nothing, and still reloads', async () => {
      await using api = await serve(carrier);
      const first = await api.client.pick('default', 'osaka');
      const second = await api.client.pick('default', 'osaka');
      assert.deepEqual([second.status, second.text], [200, '{"status":"unchanged"}']);
      assert.equal(second.headers['etag'], first.headers['etag']);
      assert.deepEqual([api.app.writes, api.app.reloads], [1, 2]);
    });

    test('the group is percent-decoded', async () => {
      await using api = await serve(carrier);
      for (const [path, group] of [
        ['Video%20Streaming', 'Video Streaming'],
        ['a%2Fb', 'a/b'],
        ['a%2fb', 'a/b'],
        ['gr%C3%B6%C3%9Fe', 'größe'],
        ['%E6%97%A5%E6%9C%AC', '日本'],
        ['%64efault', 'default'],
      ] as const) {
        const { status } = await api.client.ask('PUT', `/v1/routes/${path}`, {
          headers: { 'content-type': 'application/json' },
          body: '{"target":"osaka"}',
        });
        assert.equal(status, 200, path);
        assert.equal(api.app.picks.at(-1)?.group, group);
      }
    });

    test('a plus and a percent sign without digits stand for themselves', async () => {
      await using api = await serve(carrier);
      for (const name of ['a+b', '100%', '%zz', '%2', 'x%']) {
        const reply = await api.client.ask('PUT', `/v1/routes/${name}`, {
          headers: { 'content-type': 'application/json' },
          body: '{"target":"osaka"}',
        });
        assert.equal(reply.status, 404);
        assert.equal(errorOf(reply), `no route group named "${name}"`);
      }
    });

    test('a group whose decoding is not UTF-8 is 400 in plain text, before the body is looked at', async () => {
      await using api = await serve(carrier);
      for (const name of ['%FF', '%ff', 'a%C3', '%C3%28', '%ED%A0%80', '%F8%88%80%80%80']) {
        const { status, headers, text } = await api.client.ask('PUT', `/v1/routes/${name}`);
        assert.equal(status, 400);
        assert.match(headers['content-type'] ?? '', /^text\/plain/);
        assert.equal(text, 'Invalid URL: Invalid UTF-8 in `group`');
      }
    });

    test('a group that does not exist is 404', async () => {
      await using api = await serve(carrier);
      const reply = await api.client.pick('absent', 'osaka');
      assert.equal(reply.status, 404);
      assert.equal(errorOf(reply), 'no route group named "absent"');
      assert.equal(reply.headers['etag'], undefined);
      assert.equal(api.app.writes, 0);
    });

    test('a target that the view does not list is 422', async () => {
      await using api = await serve(carrier);
      const reply = await api.client.pick('default', 'kyoto');
      assert.equal(reply.status, 422);
      assert.equal(
        errorOf(reply),
        'no node, outbound or balancer is named "kyoto"; the route view lists them',
      );
      assert.equal(api.app.writes, 0);
    });

    test('a refused check is 422, a failed one 500; nothing is written', async () => {
      await using api = await serve(carrier);
      const before = api.app.file;
      for (const [code, status] of [
        ['invalid', 422],
        ['failed', 500],
      ] as const) {
        api.app.checkError = new ControlError(code, 'direct names a balancer');
        const reply = await api.client.pick('default', 'osaka');
        assert.equal(reply.status, status);
        assert.equal(errorOf(reply), 'direct names a balancer');
      }
      assert.equal(api.app.file, before);
    });

    test('a write that fails is 500', async () => {
      await using api = await serve(carrier);
      api.app.writeError = new ControlError('failed', 'writing /etc/weir.toml: no space left');
      const reply = await api.client.pick('default', 'osaka');
      assert.equal(reply.status, 500);
      assert.equal(errorOf(reply), 'writing /etc/weir.toml: no space left');
    });

    test('a reload that fails after the write has its own status and the tag of the new file', async () => {
      await using api = await serve(carrier);
      for (const [code, status] of [
        ['invalid', 422],
        ['failed', 500],
      ] as const) {
        api.app.reloadError = new ControlError(code, 'inbound socks: address already in use');
        const reply = await api.client.pick('default', code === 'invalid' ? 'osaka' : 'auto');
        assert.equal(reply.status, status);
        assert.equal(reply.headers['etag'], api.app.etag);
        assert.equal(errorOf(reply), 'inbound socks: address already in use');
      }
      assert.equal(api.app.pickOf('default'), 'auto');
    });

    describe('several at once', () => {
      test('of two with the same tag one wins, the other gets 409 and succeeds with the new tag', async () => {
        await using api = await serve(carrier);
        const known = { 'if-match': api.app.etag };
        const replies = await Promise.all([
          api.client.pick('default', 'osaka', known),
          api.client.pick('default', 'auto', known),
        ]);
        const statuses = replies.map(({ status }) => status);
        assert.deepEqual(
          statuses.toSorted((a, b) => a - b),
          [200, 409],
        );
        const loser = replies.find(({ status }) => status === 409);
        assert.equal(loser?.headers['etag'], api.app.etag);
        const retry = await api.client.pick('default', 'auto', {
          'if-match': loser.headers['etag'] ?? '',
        });
        assert.equal(retry.status, 200);
      });

      test('edits apply one at a time, and none is lost', async () => {
        await using api = await serve(carrier);
        const groups = ['default', ...api.app.groups];
        const replies = await Promise.all(groups.map((group) => api.client.pick(group, 'osaka')));
        assert.deepEqual(new Set(replies.map(({ status }) => status)), new Set([200]));
        assert.equal(api.app.writes, groups.length);
        for (const group of groups) assert.equal(api.app.pickOf(group), 'osaka');
        const tags = new Set(replies.map(({ headers }) => headers['etag']));
        assert.equal(tags.size, groups.length);
        assert.ok(tags.has(createHashTag(api.app.file)));
      });

      test('a file that is changed during the check is kept: 409', async () => {
        await using api = await serve(carrier);
        const held = api.app.hold('check');
        const edit = api.client.pick('default', 'osaka');
        await held.reached;
        api.app.file += '# by hand\n';
        const changed = api.app.file;
        held.release();
        const reply = await edit;
        assert.equal(reply.status, 409);
        assert.equal(reply.headers['etag'], api.app.etag);
        assert.equal(api.app.file, changed);
      });
    });

    describe('a client that disconnects', () => {
      for (const step of ['lock', 'check', 'write'] as const) {
        test(`while its edit is at the ${step} changes nothing, and the next edit continues`, async () => {
          await using api = await serve(carrier);
          const before = api.app.file;
          const held = api.app.hold(step);
          const socket = await api.client.connect();
          const body = '{"target":"osaka"}';
          socket.write(
            'PUT /v1/routes/default HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n' +
              `Content-Length: ${body.length}\r\n\r\n${body}`,
          );
          await held.reached;
          socket.destroy();
          await eventually('the edit to be given up', () => api.app.abandoned.length > 0);
          assert.deepEqual(api.app.abandoned, [step]);
          assert.equal(api.app.file, before);
          held.release();
          assert.equal((await api.client.pick('default', 'auto')).status, 200);
        });
      }

      test('in the middle of its body makes no edit', async () => {
        await using api = await serve(carrier);
        const socket = await api.client.connect();
        socket.write(
          'PUT /v1/routes/default HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n' +
            'Content-Length: 18\r\n\r\n{"tar',
        );
        assert.equal((await api.client.get('/v1/health')).status, 200);
        socket.destroy();
        assert.equal((await api.client.pick('default', 'auto')).status, 200);
        assert.equal(api.app.picks.length, 1);
      });
    });
  });
}

const createHashTag = (file: string): string =>
  `"${createHash('sha256').update(file).digest('hex')}"`;
