import assert from 'node:assert/strict';
import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { freedom, socksIn } from '../support/config.ts';
import { eventually } from '../support/wait.ts';
import { runWeir, scratch, Weir } from '../support/weir.ts';

const CONFIG = socksIn() + freedom();

test('standard error that is the journal gets priorities and no time', async () => {
  await using folder = await scratch();
  const journal = join(folder.path, 'journal');
  await writeFile(journal, '');
  const { dev, ino } = await stat(journal, { bigint: true });
  await using weir = await Weir.launch(CONFIG, {
    wrap: ['/bin/sh', '-c', `exec "$@" 2>>'${journal}'`, 'sh'],
    env: { JOURNAL_STREAM: `${dev}:${ino}` },
  });
  const listening = await eventually(
    'the line of the listener',
    async () => /^.*listening.*$/m.exec(await readFile(journal, 'utf8')) ?? undefined,
  );
  assert.match(listening[0], /^<6>INFO svc_app: inbound \S+ listening on 127\.0\.0\.1:\d+$/);
  await weir.stop();
});

test('the JOURNAL_STREAM of another process leaves the lines as they are', async () => {
  await using weir = await Weir.start(CONFIG, { env: { JOURNAL_STREAM: '1:1' } });
  assert.match(weir.child.stderr, /^\S+Z {2}INFO svc_app: inbound/m);
});

test('with WEIR_LOG=json every line is an object, that of an invalid configuration too', async () => {
  await using folder = await scratch();
  const file = join(folder.path, 'weir.toml');
  await writeFile(file, '[[inbound]]\nprotocol = "nonsense"\n');
  const child = await runWeir(['--config', file], { env: { WEIR_LOG: 'json' } });
  const lines = child.stderr.trimEnd().split('\n');
  for (const line of lines) {
    const { level, target, message } = JSON.parse(line) as Record<string, string>;
    assert.equal(level, 'error');
    assert.equal(target, 'svc_app');
    assert.match(message ?? '', /^configuration invalid: /);
  }
});
