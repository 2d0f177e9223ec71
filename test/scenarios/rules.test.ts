import assert from 'node:assert/strict';
import test from 'node:test';
import { httpIn, proxyOut, rule, socksIn } from '../support/process/config.ts';
import { httpTunnel } from '../support/peers/http-client.ts';
import { readAll } from '../support/read.ts';
import { recorder } from '../support/peers/recorder.ts';
import { socksConnect, type SocksOptions } from '../support/peers/socks-client.ts';
import { Weir } from '../support/process/weir.ts';

/** One rule for each kind of matcher, each to an outbound of its own. */
const RULES: Readonly<Record<string, string>> = {
  suffix: 'domain_suffix = ["suffix.example", "EXAMPLE.ORG"]',
  full: 'domain_full = ["full.example"]',
  keyword: 'domain_keyword = ["needle"]',
  regex: String.raw`domain_regex = ['^(www|cdn)\d+\.re\.example$']`,
  cidr: 'cidr = ["10.1.0.0/16", "192.0.2.7", "2001:db8:1::/48"]',
  port: 'port = ["7000", "8000 - 8010"]',
  both: 'domain_suffix = ["both.example"]\nport = ["443"]',
  source: 'source_cidr = ["127.0.0.2"]',
  inbound: 'inbound_tag = ["second", "absent"]',
};

/** One for each matcher, and `default` where none matches; `packages/proxy/test/unit/engine/router` has the rest. */
const CASES: readonly (readonly [to: string, outbound: string])[] = [
  ['a.b.suffix.example:80', 'suffix'],
  ['www.example.org:80', 'suffix'],
  ['FULL.example:80', 'full'],
  ['haystackneedlehay.example:80', 'keyword'],
  ['WWW1.RE.example:80', 'regex'],
  ['10.1.255.255:80', 'cidr'],
  ['[2001:db8:1:ffff::1]:80', 'cidr'],
  ['198.51.100.1:8010', 'port'],
  ['suffix.example:7000', 'suffix'],
  ['both.example:443', 'both'],
  ['both.example:80', 'default'],
];

test('each kind of matcher picks its outbound, the first rule in file order wins', async (t) => {
  const names = [...Object.keys(RULES), 'default'];
  await using stack = new AsyncDisposableStack();
  const recorders = await Promise.all(names.map(recorder));
  for (const each of recorders) stack.use(each);
  const config = [
    socksIn('first', 'sniffing = false'),
    socksIn('second', 'sniffing = false'),
    httpIn('http', 'sniffing = false'),
    ...recorders.map(({ name, target }) => proxyOut(name, 'socks', target)),
    '[route]\ndefault = "default"\n',
    ...Object.entries(RULES).map(([name, matchers]) => rule(name, matchers)),
  ].join('\n');
  await using weir = await Weir.start(config);

  for (const [to, outbound] of CASES) {
    await t.test(`${to} is routed to ${outbound}`, async () => {
      assert.equal(await taken(weir, 'first', to), outbound);
    });
  }
  await t.test('the destination is passed on as the client named it', () => {
    const seen = new Set(recorders.flatMap(({ targets }) => targets.map(({ host }) => host)));
    for (const host of ['a.b.suffix.example', '10.1.255.255', '2001:db8:1:ffff::1']) {
      assert.ok(seen.has(host), host);
    }
  });
  await t.test('a client at 127.0.0.2 matches by its source', async () => {
    const options = { localAddress: '127.0.0.2' };
    assert.equal(await taken(weir, 'first', '203.0.113.1:80', options), 'source');
  });
  await t.test('another inbound matches by its tag', async () => {
    assert.equal(await taken(weir, 'second', '203.0.113.1:80'), 'inbound');
  });
  await t.test('a CONNECT is routed like a SOCKS request', async () => {
    const tunnel = await httpTunnel(weir.address('http'), 'a.suffix.example:80');
    assert.equal(String((await readAll(tunnel)).data), 'suffix');
  });
});

/** The name of the outbound that a connection took, sent by the recorder behind it. */
async function taken(
  weir: Weir,
  inbound: string,
  to: string,
  options: SocksOptions = {},
): Promise<string> {
  const { hostname } = new URL(`tcp://${to}`);
  const host = hostname.replace(/^\[(.*)\]$/, '$1');
  const port = Number(to.slice(to.lastIndexOf(':') + 1));
  const socket = await socksConnect(weir.address(inbound), { host, port }, options);
  try {
    return String((await readAll(socket)).data);
  } finally {
    socket.destroy();
  }
}
