import assert from 'node:assert/strict';
import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { blackhole, freedom, rule, socksIn } from '../support/process/config.ts';
import { socksReply } from '../support/peers/socks-client.ts';
import { eventually } from '../support/wait.ts';
import { runWeir, scratch, Weir } from '../support/process/weir.ts';

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

test('with WEIR_LOG=json a blocked flow is one line a minute, with its facts as fields', async () => {
  const hostile = 'block\\n2026-01-01T00:00:00Z ERROR \\u001b[31m\\u202e';
  const config =
    socksIn() + freedom() + blackhole(hostile) + rule(hostile, 'domain_suffix = ["ads.test"]');
  await using weir = await Weir.launch(config, { env: { WEIR_LOG: 'json' } });
  const records = () =>
    weir.child.stderr
      .split('\n')
      .filter((line) => line.endsWith('}'))
      .map((line) => JSON.parse(line) as Record<string, unknown>);
  const listening = await eventually('the inbound', () =>
    records().find(({ inbound }) => inbound === 'socks'),
  );
  const port = Number(/:(\d+)$/.exec(String(listening['message']))?.[1]);
  for (const name of ['a', 'b', 'c']) {
    assert.equal(
      await socksReply({ host: '127.0.0.1', port }, { host: `${name}.ads.test`, port: 80 }),
      2,
    );
  }
  await weir.stop();
  const blocked = records().filter(({ host }) => String(host).endsWith('.ads.test'));
  assert.equal(blocked.length, 1);
  const { inbound, outbound, host, rule: index, source, level, error } = blocked[0] ?? {};
  assert.deepEqual(
    { inbound, outbound, host, index, source, level },
    {
      inbound: 'socks',
      outbound: JSON.parse(`"${hostile}"`) as string,
      host: 'a.ads.test',
      index: 0,
      source: '127.0.0.1',
      level: 'info',
    },
  );
  assert.equal(typeof error, 'string');
  for (const char of ['\u001b', '\u202e']) assert.equal(weir.child.stderr.includes(char), false);
});

test('a tag with line breaks and escapes forges no line of text', async () => {
  const hostile = 'block\\n2026-01-01T00:00:00Z ERROR forged\\u001b[31m';
  const config =
    socksIn() + freedom() + blackhole(hostile) + rule(hostile, 'domain_suffix = ["ads.test"]');
  await using weir = await Weir.start(config + blackhole(`${hostile} unused`));
  await socksReply(weir.address('socks'), { host: 'a.ads.test', port: 80 });
  await weir.child.until('the line of the flow', ({ stderr }) =>
    stderr.includes('a.ads.test:80 by ') ? true : undefined,
  );
  await weir.stop();
  assert.equal(weir.child.stderr.includes('\u001b'), false);
  assert.doesNotMatch(weir.child.stderr, /^2026-01-01T00:00:00Z ERROR/m);
});
