import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { serve, type Carrier } from './api-harness.ts';

export function webPagesSuite(carrier: Carrier): void {
  describe('web pages', () => {
    const guarded = carrier === 'tcp';

    test(`a name other than localhost as host is ${guarded ? '421' : 'accepted'}`, async () => {
      await using api = await serve(carrier);
      for (const host of ['evil.example:9090', '127.0.0.1.nip.io']) {
        const { status, text } = await api.client.get('/v1/health', { headers: { host } });
        assert.equal(status, guarded ? 421 : 200, host);
        if (guarded) assert.deepEqual(Object.keys(JSON.parse(text) as object), ['error']);
      }
    });

    test('an address or localhost as host is served', async () => {
      await using api = await serve(carrier);
      for (const host of ['LOCALHOST:9090', '[::1]:9090', '10.0.0.1', '']) {
        const { status } = await api.client.get('/v1/health', { headers: { host } });
        assert.equal(status, 200, host);
      }
    });

    test('the authority of an absolute target counts as the host', async () => {
      await using api = await serve(carrier);
      const ask = (target: string, host: string): Promise<string> =>
        api.client.raw(`GET ${target} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
      const evil = await ask('http://evil.example/v1/health', 'localhost');
      assert.match(evil, guarded ? /^HTTP\/1\.1 421 / : /^HTTP\/1\.1 200 /);
      assert.match(await ask('http://localhost/v1/health', 'evil.example'), /^HTTP\/1\.1 200 /);
    });

    test(`a page of another origin is ${guarded ? '403' : 'served'}`, async () => {
      await using api = await serve(carrier);
      for (const origin of ['https://evil.example', 'null', 'http://127.0.0.1:1']) {
        const { status, text } = await api.client.get('/v1/health', { headers: { origin } });
        assert.equal(status, guarded ? 403 : 200, origin);
        if (guarded) assert.deepEqual(Object.keys(JSON.parse(text) as object), ['error']);
      }
      const put = await api.client.pick('default', 'osaka', { origin: 'https://evil.example' });
      assert.equal(put.status, guarded ? 403 : 200);
    });

    test(`a page of another site that sends no Origin is ${guarded ? '403' : 'served'}`, async () => {
      await using api = await serve(carrier);
      for (const path of ['/v1/routes', '/v1/connections/events', '/nowhere']) {
        for (const site of ['cross-site', 'same-site', 'none, cross-site', 'unheard-of', '']) {
          const { status } = await api.client.ask('HEAD', path, {
            headers: { 'sec-fetch-site': site },
          });
          assert.equal(status, guarded ? 403 : path === '/nowhere' ? 404 : 200, `${path} ${site}`);
        }
      }
      for (const site of ['none', 'same-origin']) {
        const { status } = await api.client.get('/v1/routes', {
          headers: { 'sec-fetch-site': site },
        });
        assert.equal(status, 200, site);
      }
    });

    test("the listener's own origin is served", async () => {
      await using api = await serve(carrier);
      const port = 'port' in api.client.address ? api.client.address.port : 1;
      for (const host of [`127.0.0.1:${port}`, `localhost:${port}`, `[::1]:${port}`]) {
        const headers = { host, origin: `http://${host}` };
        assert.equal((await api.client.get('/v1/health', { headers })).status, 200, host);
      }
    });

    test('with a secret any host name and any origin is served', async () => {
      await using api = await serve(carrier, 'sesame');
      const headers = {
        host: 'weir.example',
        origin: 'https://panel.example',
        'sec-fetch-site': 'cross-site',
      };
      assert.equal((await api.client.get('/v1/health', { headers })).status, 200);
    });

    test('a page is refused before the path is checked', async () => {
      await using api = await serve(carrier);
      const { status } = await api.client.get('/nowhere', { headers: { host: 'evil.example' } });
      assert.equal(status, guarded ? 421 : 404);
    });
  });
}
