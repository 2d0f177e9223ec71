import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { inspect } from 'node:util';
import { apiOptions, serve, type Carrier } from './api-harness.ts';

const SECRET = 's3cret-Token';

/** The rest of what is no token, or is one, is asked of the filter: `packages/server/test/unit/api/parsing.test.ts`. */
const REFUSED: readonly string[] = ['', 'Bearer s3cret-token', 'Bearer s3cret-Tok\xe9n'];

const ACCEPTED: readonly string[] = ['bEaReR s3cret-Token', 'Bearer \ts3cret-Token\t'];

export function authenticationSuite(carrier: Carrier): void {
  describe('authentication', () => {
    test('without a secret no token is required', async () => {
      await using api = await serve(carrier);
      for (const authorization of ['', 'Bearer wrong', 'rubbish']) {
        const { status } = await api.client.get('/v1/health', { headers: { authorization } });
        assert.equal(status, 200);
      }
    });

    test('with a secret every request to any path by any method is 401 without it', async () => {
      await using api = await serve(carrier, SECRET);
      for (const path of ['/v1/health', '/v1/routes', '/v1/routes/%FF', '/nowhere', '/', '*']) {
        for (const method of ['GET', 'HEAD', 'PUT', 'POST', 'DELETE', 'OPTIONS', 'PATCH']) {
          const { status, headers, text } = await api.unauthenticated.ask(method, path);
          assert.equal(status, 401, `${method} ${path}`);
          assert.equal(headers['www-authenticate'], 'Bearer');
          const body = method === 'HEAD' ? '' : '{"error":"a valid bearer token is required"}';
          assert.equal(text, body, `${method} ${path}`);
        }
      }
    });

    test('an unknown method is 401 as well, and 405 or 404 with the token', async () => {
      await using api = await serve(carrier, SECRET);
      const ask = (path: string, more: string): Promise<string> =>
        api.client.raw(`BREW ${path} HTTP/1.1\r\nHost: localhost\r\n${more}\r\n`);
      assert.match(await ask('/v1/health', ''), /^HTTP\/1\.1 401 [^]*WWW-Authenticate: Bearer\r\n/);
      const token = `Authorization: Bearer ${SECRET}\r\n`;
      assert.match(await ask('/v1/health', token), /^HTTP\/1\.1 405 [^]*Allow: GET,HEAD\r\n/);
      assert.match(await ask('/nowhere', token), /^HTTP\/1\.1 404 /);
      assert.match(
        await api.client.raw('CONNECT a.example:1 HTTP/1.1\r\n\r\n'),
        /^HTTP\/1\.1 401 /,
      );
    });

    test('a path with invalid bytes is 401 as well', async () => {
      await using api = await serve(carrier, SECRET);
      const request = Buffer.from(
        'PUT /v1/routes/\xff HTTP/1.1\r\nHost: localhost\r\n\r\n',
        'latin1',
      );
      assert.match(await api.unauthenticated.raw(request), /^HTTP\/1\.1 401 /);
      const authorized = request
        .toString('latin1')
        .replace('\r\n', `\r\nAuthorization: Bearer ${SECRET}\r\n`);
      assert.match(
        await api.unauthenticated.raw(Buffer.from(authorized, 'latin1')),
        /^HTTP\/1\.1 400 /,
      );
    });

    test('the token is checked before anything else', async () => {
      await using api = await serve(carrier, SECRET);
      const bad = { headers: { 'if-match': 'W/"x"', host: 'evil.example' }, body: 'not json' };
      const { status } = await api.unauthenticated.ask('PUT', '/v1/routes/%FF', bad);
      assert.equal(status, 401);
    });

    test('the head alone is enough for 401: the body is not waited for', async () => {
      await using api = await serve(carrier, SECRET);
      const reply = await api.unauthenticated.raw(
        'PUT /v1/routes/default HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 100\r\n\r\n{',
        { end: false },
      );
      assert.match(reply, /^HTTP\/1\.1 401 /);
    });

    for (const authorization of REFUSED) {
      test(`${inspect(authorization).slice(0, 40)} is no valid token`, async () => {
        await using api = await serve(carrier, SECRET);
        const reply = await api.unauthenticated.raw(
          Buffer.from(
            `GET /v1/health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAuthorization: ${authorization}\r\n\r\n`,
            'latin1',
          ),
        );
        assert.match(reply, /^HTTP\/1\.1 401 /);
      });
    }

    for (const authorization of ACCEPTED) {
      test(`${inspect(authorization)} is accepted`, async () => {
        await using api = await serve(carrier, SECRET);
        const reply = await api.unauthenticated.raw(
          `GET /v1/health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAuthorization: ${authorization}\r\n\r\n`,
        );
        assert.match(reply, /^HTTP\/1\.1 200 /);
      });
    }

    test('with the token the request is handled', async () => {
      await using api = await serve(carrier, SECRET);
      assert.equal((await api.client.get('/v1/health')).status, 200);
      assert.equal((await api.client.get('/nowhere')).status, 404);
      assert.equal((await api.client.ask('OPTIONS', '/v1/health')).status, 405);
      assert.equal((await api.client.pick('default', 'osaka')).status, 200);
    });

    test('event streams need the token, too', async () => {
      await using api = await serve(carrier, SECRET);
      assert.equal((await api.unauthenticated.get('/v1/traffic')).status, 401);
      assert.equal((await api.unauthenticated.get('/v1/connections/events')).status, 401);
    });

    test('options do not show the secret, however they are printed', () => {
      const options = apiOptions(undefined, SECRET);
      const shown = [inspect(options, { showHidden: true, depth: 9 }), JSON.stringify(options)];
      for (const text of shown) assert.doesNotMatch(text, new RegExp(SECRET));
    });
  });
}
