import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, test } from 'node:test';
import { ControlError } from '../../src/api/contract.ts';
import { eventually } from '../support/wait.ts';
import { APPLIED } from './api-fake.ts';
import type { Reply } from './api-client.ts';
import { serve, type Carrier, type Served } from './api-harness.ts';

const LIMIT = 2_097_152;
const NO_TYPE = 'Expected request with `Content-Type: application/json`';
const NO_JSON = 'Failed to parse the request body as JSON:';
const WRONG_SHAPE = 'Failed to deserialize the JSON body into the target type:';
const TOO_LONG = 'Failed to buffer the request body:';

const errorOf = ({ text }: Reply): string => {
  const body = JSON.parse(text) as { error: string };
  assert.deepEqual(Object.keys(body), ['error']);
  return body.error;
};

const put = (
  api: Served,
  body: string | Uint8Array,
  headers?: Record<string, string>,
): Promise<Reply> =>
  api.client.ask('PUT', '/v1/routes/default', {
    headers: { 'content-type': 'application/json', ...headers },
    body,
  });

/** A 400 with JSON that starts so, and nothing done. */
async function refused(api: Served, reply: Reply, start: string): Promise<void> {
  assert.equal(reply.status, 400, reply.text);
  assert.equal(reply.headers['content-type'], 'application/json');
  assert.ok(errorOf(reply).startsWith(start), reply.text);
  assert.equal(reply.headers['etag'], undefined);
  assert.deepEqual(api.app.picks, []);
  assert.equal(api.app.reloads, 0);
}

/** A pick of that many bytes. */
const longBody = (length: number): string => {
  const frame = '{"target":""}';
  return `{"target":"${'x'.repeat(length - frame.length)}"}`;
};

export function pickSuite(carrier: Carrier): void {
  describe('PUT /v1/routes/{group}', () => {
    test('writes the pick, reloads, and answers the report with the new tag', async () => {
      await using api = await serve(carrier);
      const before = (await api.client.get('/v1/routes')).headers['etag'];
      const { status, headers, text } = await api.client.pick('default', 'osaka');
      assert.equal(status, 200);
      assert.deepEqual(JSON.parse(text), APPLIED);
      assert.notEqual(headers['etag'], before);
      assert.equal(headers['etag'], (await api.client.get('/v1/routes')).headers['etag']);
      assert.equal(api.app.pickOf('default'), 'osaka');
    });

    test('the same pick again writes nothing, and the reload is asked for all the same', async () => {
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
      const reply = await api.client.pick('nobody', 'osaka');
      assert.equal(reply.status, 404);
      assert.equal(errorOf(reply), 'no route group named "nobody"');
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

    describe('the body', () => {
      test('needs a content type of JSON', async () => {
        await using api = await serve(carrier);
        const body = '{"target":"osaka"}';
        for (const type of [
          'text/plain',
          'application/x-www-form-urlencoded',
          'json',
          'application/jsonp',
          '',
        ]) {
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

      test('is JSON', async () => {
        await using api = await serve(carrier);
        for (const body of [
          '',
          ' ',
          '{',
          '{"target"',
          '{"target":',
          '{"target":"osaka"',
          '{"target":"osaka",}',

          '{target:"osaka"}',
          "{'target':'osaka'}",
          '{"target":"osaka"} x',
          '{"target":"osaka"}{}',

          'osaka',
          'nul',
          '\u{FEFF}{"target":"osaka"}',
          '{"target":"a\nb"}',
          '{"target":"\\x"}',

          '{"target":"\\ud800"}',
          '{"target" "osaka"}',
          '{"target":"osaka" "a"}',
          '{,}',
          '"osaka',
        ]) {
          await refused(api, await put(api, body), NO_JSON);
        }
        await refused(api, await put(api, Buffer.from('{"target":"\xff"}', 'latin1')), NO_JSON);
      });

      test('is an object with target, a string, and nothing else', async () => {
        await using api = await serve(carrier);
        for (const body of [
          '{}',
          '[]',
          '["osaka"]',
          '"osaka"',
          '1',
          '-1.5e3',
          'null',
          'true',
          '{"Target":"osaka"}',
          '{"target":null}',
          '{"target":1}',
          '{"target":["osaka"]}',
          '{"target":{"a":1}}',
          '{"target":false}',
          '{"target":"osaka","x":1}',
          '{"x":1,"target":"osaka"}',
          '{"target":"osaka","target":"auto"}',
          '{"target ":"osaka"}',
          '{"":""}',
        ]) {
          await refused(api, await put(api, body), WRONG_SHAPE);
        }
      });

      test('may be spaced and escaped as JSON allows', async () => {
        await using api = await serve(carrier);
        for (const body of [
          ' \r\n\t{ "target" : "osaka" } \n',
          '{"t\\u0061rget":"osaka"}',
          '{"target":"o\\u0073aka"}',
        ]) {
          assert.equal((await put(api, body)).status, 200, body);
        }
        assert.deepEqual(new Set(api.app.picks.map(({ target }) => target)), new Set(['osaka']));
      });

      test('any text may be a target', async () => {
        await using api = await serve(carrier);
        for (const target of ['', ' ', 'a"b', 'ü', '\u{1F600}', '\\', 'a\u0000b']) {
          const reply = await api.client.pick('default', target);
          assert.equal(reply.status, 422);
          assert.equal(api.app.picks.at(-1)?.target, target);
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

      test('that is too long is refused at once when the client waits to be invited', async () => {
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
    });

    describe('If-Match', () => {
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
        for (const tag of ['""', '"x"', upper, `"${'0'.repeat(64)}"`, '"a b\tc"', '"\'"']) {
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
        for (const bad of [
          `W/${tag}`,
          `w/${tag}`,
          `${tag}, ${tag}`,
          `${tag},`,
          '*, *',
          tag.slice(1),
          tag.slice(0, -1),
          tag.slice(1, -1),
          'x',
          '',
          '"a,b"',
          '"a"b"',
          '"a""b"',
          '**',
          '"',
          '"\xe9"',
        ]) {
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

    describe('several at once', () => {
      test('of two that know the same tag one wins, the other gets 409 and succeeds with the new tag', async () => {
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

    describe('a client that goes', () => {
      for (const step of ['lock', 'check', 'write'] as const) {
        test(`while its edit is at the ${step} changes nothing, and the next edit goes on`, async () => {
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

      test('in the middle of its body is no edit', async () => {
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
