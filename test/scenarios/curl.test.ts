import assert from 'node:assert/strict';
import test from 'node:test';
import { hostPort } from '../support/data/address.ts';
import { freedom, httpIn, socksIn } from '../support/process/config.ts';
import { curl } from '../support/programs/curl.ts';
import { bodyOf } from '../support/data/pattern.ts';
import { webBody, webServer } from '../support/peers/servers.ts';
import { Weir } from '../support/process/weir.ts';

const MB = 1 << 20;
const CONFIG = socksIn() + httpIn() + freedom();

/** curl's options for each kind of proxy, and whether the proxy resolves names. */
const WAYS = [
  { name: 'socks4', inbound: 'socks', scheme: 'socks4', names: false, args: [] },
  { name: 'socks4a', inbound: 'socks', scheme: 'socks4a', names: true, args: [] },
  { name: 'socks5', inbound: 'socks', scheme: 'socks5', names: false, args: [] },
  { name: 'socks5h', inbound: 'socks', scheme: 'socks5h', names: true, args: [] },
  { name: 'plain HTTP', inbound: 'http', scheme: 'http', names: true, args: [] },
  { name: 'HTTP CONNECT', inbound: 'http', scheme: 'http', names: true, args: ['-p'] },
] as const;

test('curl fetches and sends through every kind of inbound', async (t) => {
  await using web = await webServer();
  await using weir = await Weir.start(CONFIG);
  for (const { name, inbound, scheme, names, args } of WAYS) {
    const proxy = ['-x', `${scheme}://${hostPort(weir.address(inbound))}`, ...args];
    const site = `http://${names ? 'localhost' : '127.0.0.1'}:${web.port}`;

    await t.test(`${name}: a page`, async () => {
      const { code, text, stderr } = await curl([...proxy, `${site}/hello`]);
      assert.deepEqual([code, text, stderr], [0, 'hello from the origin\n', '']);
    });

    await t.test(`${name}: 64 MB down, by length and chunked`, async () => {
      const sized = await curl([...proxy, `${site}/bytes/${64 * MB}`]);
      assert.deepEqual(sized.body, webBody(64 * MB));
      const chunked = await curl([...proxy, `${site}/chunked/${8 * MB}`]);
      assert.deepEqual(chunked.body, webBody(8 * MB));
    });

    await t.test(`${name}: 64 MB up`, async () => {
      const { code, text } = await curl([...proxy, '-T', '-', `${site}/digest`], 64 * MB);
      assert.equal(code, 0);
      assert.deepEqual(JSON.parse(text), bodyOf(64 * MB));
    });

    await t.test(`${name}: two pages in one run, one of them missing`, async () => {
      const { code, text } = await curl([...proxy, `${site}/hello`, `${site}/missing`]);
      assert.deepEqual([code, text], [0, 'hello from the origin\nno such page\n']);
    });
  }
});

test('a plain HTTP request reaches the origin without the headers for the proxy', async () => {
  await using web = await webServer();
  await using weir = await Weir.start(CONFIG);
  const proxy = ['-x', `http://${hostPort(weir.address('http'))}`, '-U', 'user:secret'];
  const fields = [
    'Proxy-Connection: keep-alive',
    'Connection: X-Hop',
    'X-Hop: dropped',
    'X-Mine: kept',
  ].flatMap((field) => ['-H', field]);
  const { text } = await curl([...proxy, ...fields, `http://127.0.0.1:${web.port}/seen`]);
  const seen = JSON.parse(text) as Record<string, string>;
  assert.equal(seen['x-mine'], 'kept');
  assert.equal(seen['host'], `127.0.0.1:${web.port}`);
  for (const name of ['proxy-connection', 'proxy-authorization', 'x-hop']) {
    assert.equal(seen[name], undefined, name);
  }
});
