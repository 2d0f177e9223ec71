import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { describe, test } from 'node:test';
import { explainCommand } from '../../../src/cli/config/explain.ts';
import {
  freedom,
  httpIn,
  proxyOut,
  rule,
  socksIn,
} from '../../../../../test/support/process/config.ts';
import { scratch } from '../../../../../test/support/process/weir.ts';

const UPSTREAM = { host: '192.0.2.1', port: 1080 };
const CONFIG = [
  socksIn('desk'),
  httpIn('guests').replace('guests', 'the guests'),
  freedom(),
  proxyOut('west', 'socks', UPSTREAM),
  rule('west', 'domain_suffix = ["office.example"]\nnetwork = "tcp"'),
  rule('west', 'source_cidr = ["10.0.0.0/8"]'),
  rule('west', 'inbound_tag = ["the guests"]'),
  rule('west', 'domain_keyword = ["ads"]'),
].join('\n');

const EXPECTATIONS = `# The office
www.office.example:443 => west
www.office.example:443 network=udp => direct
example.com:443 from=10.1.2.3 => west

example.com:443 inbound="the guests" => "west"
198.51.100.7:443 sniffed=ads.example => west
[2001:db8::1]:443 => direct
`;

/** Runs the command on files of these texts. */
async function run(batch: string, ...args: readonly string[]) {
  await using folder = await scratch();
  const [config, file] = [join(folder.path, 'weir.toml'), join(folder.path, 'routes.txt')];
  await writeFile(config, CONFIG);
  await writeFile(file, batch);
  const io = { stdout: new PassThrough(), stderr: new PassThrough(), env: {} };
  const status = await explainCommand(['--batch', file, '--config', config, ...args], io);
  const textOf = (stream: PassThrough): string =>
    String(stream.read() ?? '').replaceAll(`${folder.path}/`, '');
  return {
    status,
    out: textOf(io.stdout),
    error: textOf(io.stderr),
    file: await readFile(file, 'utf8'),
  };
}

describe('weir explain --batch', () => {
  test('routes that are as expected', async () => {
    const { status, out } = await run(EXPECTATIONS);
    assert.deepEqual([status, out], [0, '6 of 6 as expected\n']);
  });

  test('each mismatch with the place of the rule that took it', async () => {
    const text = EXPECTATIONS.replace('443 => west', '443 => direct').replace(
      '1]:443 => direct',
      '1]:443',
    );
    const { status, out } = await run(text);
    assert.equal(status, 1);
    const [first, second, last] = out.split('\n');
    assert.match(
      first ?? '',
      /^routes\.txt:2: www\.office\.example:443: expected direct, found west by rule 0, weir\.toml:\d+$/,
    );
    assert.match(
      second ?? '',
      /^routes\.txt:8: \[2001:db8::1\]:443: nothing is expected, found direct by the default route, /,
    );
    assert.equal(last, '4 of 6 as expected');
  });

  test('one line of JSON', async () => {
    const { status, out } = await run('example.com:1 => west\n', '--json');
    const { cases, mismatches } = JSON.parse(out) as {
      cases: number;
      mismatches: { place: string }[];
    };
    assert.deepEqual([status, cases], [1, 1]);
    assert.deepEqual(
      { ...mismatches[0], place: '' },
      {
        line: 1,
        flow: 'example.com:1',
        expected: 'west',
        outbound: 'direct',
        rule: null,
        place: '',
      },
    );
  });

  test('--write makes the expectations, and keeps comments and what is right', async () => {
    const bare = EXPECTATIONS.replace(' => "west"', '').replace(
      '443 => direct\n',
      '443 => west\r\n',
    );
    const { status, out, file } = await run(bare, '--write');
    assert.equal(status, 0);
    assert.match(out, /2 written\n$/);
    // Ends of lines stay as they are, too.
    assert.equal(
      file,
      EXPECTATIONS.replace('"west"', 'west').replace('1]:443 => direct', '1]:443 => direct\r'),
    );
    assert.equal((await run(file)).status, 0);
  });

  for (const [line, reason] of [
    ['example.com => west', 'HOST:PORT'],
    ['example.com:1 =>', 'one outbound'],
    ['example.com:1 => a b', 'one outbound'],
    ['example.com:1 port=1 => a', '"port=1" is none of'],
    ['example.com:1 from=nowhere => a', 'needs an IP address'],
    ['example.com:1 from=10.0.0.1 from=10.0.0.2 => a', 'twice'],
    ['example.com:1 inbound="a => b', 'not closed'],
    ['example.com:1 inbound=nowhere => direct', 'no inbound has the tag'],
  ] as const) {
    test(`an invalid line: ${line}`, async () => {
      const { status, out, error } = await run(`\n${line}\n`);
      assert.deepEqual([status, out], [1, '']);
      assert.ok(error.startsWith('weir explain: routes.txt:2: ') && error.includes(reason), error);
    });
  }

  test('options of single flows, and --write alone, are refused', async () => {
    await assert.rejects(run('', '--from', '10.0.0.1'), /in the file/);
    const io = { stdout: new PassThrough(), stderr: new PassThrough(), env: {} };
    await assert.rejects(explainCommand(['a:1', '--write'], io), /needs --batch/);
  });
});
