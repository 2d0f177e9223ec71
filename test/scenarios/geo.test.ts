import assert from 'node:assert/strict';
import { rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { freedom, proxyOut, rule, socksIn } from '../support/process/config.ts';
import { API, Control, errorOf, type Report } from '../support/process/control.ts';
import { a, cname, reply, soa, startPlainDns, type Script } from '../support/peers/dns-server.ts';
import { encodeGeoip, encodeGeosite, type DomainFixture } from '../support/data/geo-fixture.ts';
import { readAll } from '../support/read.ts';
import { recorder } from '../support/peers/recorder.ts';
import { echoServer } from '../support/peers/servers.ts';
import { roundTrip } from '../support/read.ts';
import { socksConnect, socksReply } from '../support/peers/socks-client.ts';
import { Weir } from '../support/process/weir.ts';

const sites = (domains: readonly DomainFixture[]): Buffer =>
  encodeGeosite([
    { code: 'OTHER', domains: [{ type: 'plain', value: 'unrelated' }] },
    { code: 'SITES', domains },
  ]);

const networks = (...last: readonly number[]): Buffer =>
  encodeGeoip([
    {
      code: 'NETS',
      networks: last.map((byte) => ({ ip: [198, 51, 100, byte], prefix: 32 })),
    },
  ]);

/** Where a flow to `host` ends up: the name of the recorder that took it. */
async function taker(control: Control, host: string): Promise<string> {
  const socket = await socksConnect(control.weir.address('socks'), { host, port: 443 });
  try {
    return String((await readAll(socket)).data);
  } finally {
    socket.destroy();
  }
}

test('geo files decide routes, and a reload applies a new geo file', async () => {
  await using listed = await recorder('listed');
  await using other = await recorder('other');
  const config = (folder: string): string =>
    [
      API,
      socksIn('socks', 'sniffing = false'),
      proxyOut('other', 'socks', other.target),
      proxyOut('listed', 'socks', listed.target),
      `[route]\ngeosite = ${JSON.stringify(join(folder, 'geosite.dat'))}\n`,
      `geoip = ${JSON.stringify(join(folder, 'geoip.dat'))}\n`,
      rule('listed', 'geosite = ["sites@Ads", "Other"]'),
      rule('listed', 'geoip = ["NETS"]'),
    ].join('');
  await using weir = await Weir.start(API + socksIn() + freedom());
  const control = await Control.of(weir);
  const at = (name: string): string => join(weir.folder, name);
  const ads = { ads: true };
  await writeFile(
    at('geosite.dat'),
    sites([
      { type: 'root', value: 'Root.Example', attributes: ads },
      { type: 'full', value: 'full.example', attributes: { ADS: 1 } },
      { type: 'plain', value: 'keyword', attributes: ads },
      { type: 'regex', value: '^r[0-9]+\\.example$', attributes: ads },
      { type: 'root', value: 'bare.example' },
    ]),
  );
  await writeFile(at('geoip.dat'), networks(1, 2));
  assert.equal((await control.apply(config(weir.folder))).status, 'applied');

  const decisions = async (...hosts: readonly string[]): Promise<string[]> => {
    const names: string[] = [];
    for (const host of hosts) names.push(await taker(control, host));
    return names;
  };
  assert.deepEqual(
    await decisions('www.root.example', 'full.example', 'a-keyword.test', 'r17.example'),
    ['listed', 'listed', 'listed', 'listed'],
  );
  assert.deepEqual(await decisions('www.full.example', 'bare.example', 'rx.example'), [
    'other',
    'other',
    'other',
  ]);
  assert.deepEqual(await decisions('198.51.100.2', '198.51.100.3'), ['listed', 'other']);

  // The configuration file stays as it is; new data behind the same path is a change of the route.
  await writeFile(at('geoip.new'), networks(3));
  await rename(at('geoip.new'), at('geoip.dat'));
  const report = (await control.api.json('POST', '/v1/reload')) as Report;
  assert.deepEqual([report.status, report.built], ['applied', ['route']]);
  assert.deepEqual(await decisions('198.51.100.2', '198.51.100.3'), ['other', 'listed']);
  assert.equal(((await control.api.json('POST', '/v1/reload')) as Report).status, 'unchanged');

  // Data that cannot be used leaves the lists of the last reload in force.
  await writeFile(at('geosite.dat'), encodeGeosite([{ code: 'OTHER', domains: [] }]));
  const missing = await control.post();
  assert.deepEqual([missing.status, errorOf(missing)], [422, 'geosite code not found: sites']);
  await control.logged('geosite code not found: sites; keeping the running config');
  assert.deepEqual(await decisions('www.root.example', '198.51.100.3'), ['listed', 'listed']);
});

/** A Weir that resolves by a scripted server, with a server to reach behind the names. */
async function resolving(t: TestContext, script: Script) {
  const dns = await startPlainDns(t, script);
  const origin = await echoServer();
  t.after(() => origin[Symbol.asyncDispose]());
  const config = (more = ''): string =>
    `${API}${socksIn()}${freedom('direct', more)}[dns]\nbackend = "udp"\nserver = "127.0.0.1:${dns.port}"\n`;
  const weir = await Weir.start(config());
  t.after(() => weir[Symbol.asyncDispose]());
  const reach = async (host: string): Promise<void> => {
    const socket = await socksConnect(weir.address('socks'), { host, port: origin.port });
    assert.equal(String(await roundTrip(socket, 'ping')), 'ping');
    socket.destroy();
  };
  return { dns, weir, origin, config, reach };
}

test('[dns] by udp: aliases, cached answers, names that do not exist, truncated answers', async (t) => {
  const HOST_UNREACHABLE = 4;
  const { dns, weir, origin, reach } = await resolving(t, (asked) => {
    if (asked.name === 'gone.test')
      return reply(asked, { rcode: 3, authorities: [soa('test', 60, 60)] });
    if (asked.type !== 'A') return reply(asked);
    if (asked.name === 'alias.test') {
      return reply(asked, {
        answers: [cname('alias.test', 'real.test'), a('real.test', '127.0.0.1')],
      });
    }
    if (asked.name === 'truncated.test' && asked.over === 'udp')
      return reply(asked, { truncated: true });
    return reply(asked, { answers: [a(asked.name, '127.0.0.1')] });
  });
  await reach('alias.test');
  await reach('Alias.Test');
  assert.equal(
    dns.asked.filter(({ name, type }) => name === 'alias.test' && type === 'A').length,
    1,
  );
  await reach('truncated.test');
  assert.deepEqual(
    dns.asked
      .filter(({ name, type }) => name === 'truncated.test' && type === 'A')
      .map(({ over }) => over),
    ['udp', 'tcp'],
  );
  const gone = { host: 'gone.test', port: origin.port };
  for (let i = 0; i < 2; i++) {
    assert.equal(await socksReply(weir.address('socks'), gone), HOST_UNREACHABLE);
  }
  assert.equal(
    dns.asked.filter(({ name, type }) => name === 'gone.test' && type === 'A').length,
    1,
  );
});

test('a new [dns] resolves new names at once, and no outbound is rebuilt for it', async (t) => {
  const script: Script = (asked) =>
    reply(asked, { answers: asked.type === 'A' ? [a(asked.name, '127.0.0.1', 3600)] : [] });
  const { dns, weir, config, reach } = await resolving(t, script);
  const control = await Control.of(weir);
  await reach('name.test');
  const second = await startPlainDns(t, script);
  const report = await control.apply(config().replace(`:${dns.port}"`, `:${second.port}"`));
  assert.deepEqual([report.built, report.drained], [['dns'], []]);
  await reach('name.test');
  assert.ok(second.names.includes('name.test'));
  const before = dns.asked.length;
  await reach('other.test');
  assert.equal(dns.asked.length, before);
});
