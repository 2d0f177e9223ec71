import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { scratch, runWeir } from '../support/weir.ts';

const LINKS = [
  'trojan://correct%20horse@192.0.2.1:443?sni=example.com#home',
  'vless://b831381d-6324-4d53-ad4f-8cda48b30811@192.0.2.1:443?security=reality#far',
  'vless://nonsense@192.0.2.1:443#typo',
  'socks5://192.0.2.1:1080#home',
].join('\n');

test('weir import prints a configuration that weir accepts, and says what it has left out', async () => {
  await using folder = await scratch();
  const [links, config] = [join(folder.path, 'links.txt'), join(folder.path, 'weir.toml')];
  writeFileSync(links, LINKS);
  const imported = await runWeir(['import', links]);
  assert.equal(imported.ended?.code, 0, imported.stderr);
  assert.deepEqual(imported.stderr.trimEnd().split('\n'), [
    'weir import: "far" was left out: the security reality is not supported',
    'weir import: "typo" was left out: outbound typo: invalid settings: invalid uuid',
    'weir import: 2 outbounds from share links; rules and inbounds are not imported',
  ]);
  assert.match(imported.stdout, /tag = "home"\n(?:.|\n)*tag = "home 2"\n/);
  writeFileSync(config, imported.stdout);
  assert.equal((await runWeir(['--test', '--config', config])).stdout, 'Configuration OK.\n');
});

test('weir import says why a file gives nothing', async () => {
  await using folder = await scratch();
  const file = join(folder.path, 'links.txt');
  const run = async (): Promise<readonly unknown[]> => {
    const { ended, stdout, stderr } = await runWeir(['import', '--outbounds', file]);
    return [ended?.code, stdout, stderr];
  };
  assert.match(String((await run())[2]), /^weir import: cannot read the file: ENOENT/);
  writeFileSync(file, 'tuic://192.0.2.1:1#a');
  assert.match(String((await run())[2]), /^weir import: neither share links, nor JSON/);
  writeFileSync(file, 'socks5://192.0.2.1:0#a');
  assert.deepEqual(await run(), [
    1,
    '',
    'weir import: "a" was left out: its port is not a number up to 65535\n' +
      'weir import: no outbound could be made of share links\n',
  ]);
});
