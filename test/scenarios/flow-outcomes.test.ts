import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { requestReload, requestStatus } from '@weir/server/control';
import { ClashProcess } from '../support/clash/clash-process.ts';
import { hostPort } from '../support/data/address.ts';
import { webServer } from '../support/peers/servers.ts';
import { freePort } from '../support/ports.ts';
import { blackhole, freedom, httpIn, proxyOut, rule } from '../support/process/config.ts';
import { API } from '../support/process/control.ts';
import { runWeir, Weir } from '../support/process/weir.ts';
import { curl } from '../support/programs/curl.ts';

/** What the HTTP inbound responds where a rule blocks, and where a server refuses. */
const [BLOCKED, FAILED] = [403, 502];

test('flows that a rule blocks or that fail count in status, metrics and the rules of the adapter', async () => {
  await using web = await webServer();
  const dead = { host: '127.0.0.1', port: await freePort() };
  const config = [
    API,
    httpIn(),
    freedom('direct'),
    blackhole('block'),
    proxyOut('office', 'socks', dead),
    rule('block', 'domain_suffix = ["ads.example"]'),
    rule('office', 'domain_suffix = ["office.example"]'),
    rule('direct', 'domain_suffix = ["never.example"]'),
    '[route]\ndefault = "direct"\n',
  ].join('\n');
  await using weir = await Weir.start(config, { control: true });
  const path = join(weir.folder, 'weir.toml');
  const get = async (url: string) => {
    const proxy = `http://${hostPort(weir.address('http'))}`;
    const { text } = await curl(['--proxy', proxy, '-o', '/dev/null', '-w', '%{http_code}', url]);
    return Number(text);
  };
  for (let n = 0; n < 3; n++) assert.equal(await get('http://www.ads.example/'), BLOCKED);
  for (let n = 0; n < 2; n++) assert.equal(await get('http://git.office.example/'), FAILED);
  const origin = `http://${web.host}:${web.port}/bytes/10`;
  assert.equal(await get(origin), 200);

  const counts = async () => {
    const { routes, ...status } = await requestStatus(weir.controlPath);
    const rules = routes.taken?.rules.map(({ rule: at, opened, blocked, failed }) => [
      at,
      opened,
      blocked,
      failed,
    ]);
    return {
      rules,
      totals: [status.flows_blocked, status.flows_failed],
      failed: status.failed_dials,
    };
  };
  const EXPECTED = {
    rules: [
      [0, 0, 3, 0],
      [1, 0, 0, 2],
      [null, 1, 0, 0],
    ],
    totals: [3, 2],
    failed: [{ outbound: 'office', dials: 2 }],
  };
  assert.deepEqual(await counts(), EXPECTED);

  const { stdout } = await runWeir(['metrics', '--once', '--socket', weir.controlPath]);
  assert.match(stdout, /^weir_flows_blocked_total 3$/m);
  assert.match(stdout, /^weir_flows_failed_total 2$/m);
  assert.match(stdout, /^weir_outbound_dials_failed_total\{outbound="office"\} 2$/m);

  await using adapter = await ClashProcess.start(['--config', path, '--socket', weir.controlPath]);
  const { json } = await adapter.ask('GET', '/rules');
  const { rules } = json as { rules: { extra: { hitCount: number; hitAt: string } }[] };
  assert.deepEqual(
    rules.map(({ extra }) => extra.hitCount),
    [3, 2, 0, 1],
  );
  assert.ok(Math.abs(Date.parse(rules[0]?.extra.hitAt ?? '') - Date.now()) < 600_000);

  // Another target is the same rule; other matchers are other rules.
  const text = await readFile(path, 'utf8');
  const picked = text.replace('outbound = "office"\n', 'outbound = "block"\n');
  await writeFile(path, picked);
  await requestReload(weir.controlPath);
  assert.equal(await get('http://git.office.example/'), BLOCKED);
  assert.deepEqual((await counts()).rules?.[1], [1, 0, 1, 2]);
  await writeFile(path, picked.replace('"never.example"', '"seldom.example"'));
  await requestReload(weir.controlPath);
  assert.deepEqual(await counts(), { ...EXPECTED, rules: [], totals: [4, 2] });
});
