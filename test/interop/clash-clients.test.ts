import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import test from 'node:test';
import { ClashProcess } from '../support/clash/clash-process.ts';
import { SteeredWeir } from '../support/clash/steered-weir.ts';
import { runClashClient, withoutClashClients } from '../support/programs/clash-clients.ts';

const skip = withoutClashClients;

test(
  'clashctl switches a node, measures it, lists and closes connections, follows the log',
  { skip },
  async () => {
    await using steered = await SteeredWeir.start();
    await using clash = await ClashProcess.start(['--socket', steered.weir.controlPath]);
    await steered.openFlow();
    await steered.openFlow();
    const asked = steered.osaka.targets.length;
    const { url, secret } = clash;
    const shown = (await runClashClient('terminal', [
      url,
      secret,
      steered.testUrl,
      'Video',
      'osaka',
    ])) as Record<string, unknown>;
    const { delay, row, log, ...rest } = shown;
    assert.deepEqual(rest, {
      version: '2.1.1',
      mode: 'rule',
      now: 'osaka',
      rules: [String(steered.echo.port), ''],
      connections: [2, 1],
      traffic: true,
      error: null,
    });
    assert.ok(typeof delay === 'number' && delay > 0);
    assert.deepEqual((row as readonly string[]).slice(6), ['DstPort', 'tokyo → Video', 'Socks5']);
    assert.match(String(log), /config reloaded: built route/);
    assert.match(await readFile(steered.control.file, 'utf8'), /^Video = "osaka"$/m);
    assert.ok(steered.osaka.targets.length > asked, 'the test of the delay went through the node');
  },
);

test('clash-controller-api finds everything that it polls for', { skip }, async () => {
  await using steered = await SteeredWeir.start();
  await using clash = await ClashProcess.start(['--socket', steered.weir.controlPath]);
  await steered.openFlow();
  const found = (await runClashClient('controller', [clash.url, clash.secret])) as Record<
    string,
    unknown
  >;
  assert.deepEqual(found['errors'], {});
  assert.equal(found['connections'], 1);
  assert.equal(found['refused'], true, 'a wrong secret');
  const supported = found['supported'] as readonly string[];
  for (const key of [
    'configs',
    'connections',
    'memory',
    'providers_proxies',
    'proxies',
    'rules',
    'traffic',
    'ws_connections',
    'ws_memory',
    'ws_traffic',
  ]) {
    assert.ok(supported.includes(key), key);
  }
});
