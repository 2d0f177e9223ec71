import assert from 'node:assert/strict';
import test from 'node:test';
import { blackhole, freedom, httpIn, proxyOut, rule, socksIn } from '../support/process/config.ts';
import { httpTunnel } from '../support/peers/http-client.ts';
import { readAll } from '../support/read.ts';
import { recorder } from '../support/peers/recorder.ts';
import { udpEcho, echoServer } from '../support/peers/servers.ts';
import { socksConnect, socksReply, type SocksOptions } from '../support/peers/socks-client.ts';
import { UdpAssociation } from '../support/peers/socks-udp.ts';
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

/** Where each destination must go; `default` when no rule matches. */
const CASES: readonly (readonly [to: string, outbound: string])[] = [
  ['suffix.example:80', 'suffix'],
  ['a.b.suffix.example:80', 'suffix'],
  ['A.SUFFIX.Example:80', 'suffix'],
  ['notsuffix.example:80', 'default'],
  ['suffix.example.com:80', 'default'],
  ['www.example.org:80', 'suffix'],
  ['full.example:80', 'full'],
  ['FULL.example:80', 'full'],
  ['a.full.example:80', 'default'],
  ['haystackneedlehay.example:80', 'keyword'],
  ['NEEDLE.example:80', 'keyword'],
  ['www12.re.example:80', 'regex'],
  ['WWW1.RE.example:80', 'regex'],
  ['www.re.example:80', 'default'],
  ['x.www1.re.example:80', 'default'],
  ['10.1.255.255:80', 'cidr'],
  ['10.2.0.0:80', 'default'],
  ['192.0.2.7:80', 'cidr'],
  ['192.0.2.8:80', 'default'],
  ['[2001:db8:1:ffff::1]:80', 'cidr'],
  ['[2001:db8:2::1]:80', 'default'],
  ['anything.example:7000', 'port'],
  ['198.51.100.1:8000', 'port'],
  ['198.51.100.1:8010', 'port'],
  ['198.51.100.1:8011', 'default'],
  ['suffix.example:7000', 'suffix'],
  ['both.example:443', 'both'],
  ['both.example:80', 'default'],
  ['other.example:443', 'default'],
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

test('without a rule that matches and without a default the first outbound is taken', async () => {
  await using one = await recorder('one');
  await using two = await recorder('two');
  const outbounds = [one, two].map(({ name, target }) => proxyOut(name, 'socks', target));
  await using weir = await Weir.start([socksIn(), ...outbounds].join('\n'));
  assert.equal(await taken(weir, 'socks', 'anything.example:80'), 'one');
});

test('a rule for one network leaves the other alone', async (t) => {
  const there = '127.0.0.2';
  await using tcp = await echoServer(there);
  await using udp = await udpEcho(there);
  await using elsewhere = await udpEcho();
  for (const network of ['tcp', 'udp'] as const) {
    await t.test(`network = "${network}" to a blackhole`, async () => {
      const matchers = `network = "${network}"\ncidr = ["${there}"]`;
      const config = [socksIn(), freedom(), blackhole(), rule('block', matchers)].join('\n');
      await using weir = await Weir.start(config);
      const socks = weir.address('socks');
      assert.equal(await socksReply(socks, tcp.target), network === 'tcp' ? 0x02 : 0);

      const before = udp.accepted();
      using association = await UdpAssociation.open(socks);
      association.send(udp.target, 'there');
      association.send(elsewhere.target, 'elsewhere');
      // Replies of two servers arrive in either order; the second shows that the first had its turn.
      const replies = [String((await association.receive()).data)];
      if (network === 'tcp') replies.push(String((await association.receive()).data));
      assert.deepEqual(replies.sort(), network === 'tcp' ? ['elsewhere', 'there'] : ['elsewhere']);
      assert.equal(udp.accepted() - before, network === 'tcp' ? 1 : 0);
    });
  }
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
