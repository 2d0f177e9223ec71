import assert from 'node:assert/strict';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { describe, test } from 'node:test';
import type { CommandIo } from '../../../../src/cli/command.ts';
import { generateCommand } from '../../../../src/cli/users/generate.ts';
import { shareCommand } from '../../../../src/cli/users/share.ts';
import { userCommand } from '../../../../src/cli/users/user.ts';
import { scratch } from '../../../../../../test/support/process/weir.ts';

type Run = (argv: readonly string[], io: CommandIo) => Promise<number>;

/** Runs a command in this process; without a folder of sockets no running Weir is found. */
async function outputOf(
  run: Run,
  ...argv: readonly string[]
): Promise<{ readonly status: number; readonly out: string; readonly err: string }> {
  const io = { stdout: new PassThrough(), stderr: new PassThrough(), env: {} };
  const status = await run(argv, io);
  const text = (stream: PassThrough): string => {
    const chunks: string[] = [];
    stream.setEncoding('utf8');
    for (let chunk: string | null; (chunk = stream.read() as string | null) !== null;) {
      chunks.push(chunk);
    }
    return chunks.join('');
  };
  return { status, out: text(io.stdout), err: text(io.stderr) };
}

describe('the users of a generated server', () => {
  test('are told that a self-signed certificate is refused, where their inbound has it', async () => {
    await using folder = await scratch();
    const { path } = folder;
    const protocols = ['--protocol', 'trojan,vless,shadowsocks', '--host', 'proxy.example.com'];
    const made = await outputOf(
      generateCommand,
      'server',
      ...protocols,
      '--name',
      'x',
      '--output',
      path,
    );
    assert.equal(made.status, 0, made.err);
    const host = ['--host', 'proxy.example.com', '--config', join(path, 'x.server.toml')];
    const before = process.cwd();
    process.chdir(path);
    try {
      const added = await outputOf(
        userCommand,
        'add',
        'ann',
        '--inbound',
        'trojan',
        '--link',
        ...host,
      );
      assert.match(added.out, /^password \w{24}\ntrojan:\/\/\w{24}@proxy\.example\.com:\d+\?/);
      assert.match(
        added.err,
        /: the certificate is self-signed, so clients are given its hash to compare/,
      );
      const ann = await outputOf(shareCommand, '--user', 'ann', ...host);
      assert.match(ann.err, /^weir share: inbound "trojan": the certificate is self-signed/);
      const all = await outputOf(shareCommand, ...host);
      assert.match(
        all.err,
        /^weir share: inbound "trojan", "vless": the certificate is self-signed/,
      );
      const plain = await outputOf(shareCommand, '--inbound', 'shadowsocks', ...host);
      assert.deepEqual([plain.status, plain.err], [0, '']);
    } finally {
      process.chdir(before);
    }
  });

  test('are listed of a file that can be read; of another the command says which it is', async () => {
    const { status, out, err } = await outputOf(userCommand, 'list', '--config', '/none/x.toml');
    assert.deepEqual([status, out], [1, '']);
    assert.equal(
      err,
      'weir user: cannot read /none/x.toml: no such file or directory\nhint: there is no folder /none\n',
    );
  });
});
