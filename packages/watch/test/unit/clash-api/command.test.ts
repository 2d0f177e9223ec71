import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { parseClashApi, clashApiCommand } from '../../../../weir/src/cli/watch/clash-api.ts';
import { metricsCommand } from '../../../../weir/src/cli/watch/metrics.ts';
import { CapturedIo } from '../../../../../test/support/process/captured-io.ts';
import { scratch } from '../../../../../test/support/process/weir.ts';

describe('weir clash-api', () => {
  test('takes origins as browsers send them', () => {
    const parsed = parseClashApi([
      '--allow-origin',
      'https://board.example',
      '--allow-origin',
      'http://127.0.0.1:8080/',
    ]);
    assert.deepEqual(parsed?.origins, ['https://board.example', 'http://127.0.0.1:8080']);
    for (const text of ['board.example', 'https://board.example/path', '*', 'null', 'file:///x']) {
      assert.throws(() => parseClashApi(['--allow-origin', text]), /--allow-origin .*expected/);
    }
  });

  test('has no other operands and options', () => {
    assert.throws(() => parseClashApi(['extra']), /unexpected argument "extra"/);
    assert.throws(() => parseClashApi(['--secret']), /unknown option --secret/);
  });

  test('listens to this host alone without TLS', async () => {
    const io = new CapturedIo();
    await assert.rejects(
      clashApiCommand(['--listen', '0.0.0.0:0'], io),
      /other hosts could connect/,
    );
  });

  test('refuses secrets that are empty or cannot be sent, and a folder that there is not', async () => {
    await using folder = await scratch();
    const empty = join(folder.path, 'empty');
    await writeFile(empty, '\n');
    // Named, since a Weir of this machine would be found otherwise.
    const env = { WEIR_SOCKET: join(folder.path, 'none.sock') };
    const where = ['--listen', '127.0.0.1:0', '--api', '127.0.0.1:1'];
    const secret = ['--clash-secret-file', empty];
    await assert.rejects(
      clashApiCommand([...where, ...secret], new CapturedIo(env)),
      /the file of --clash-secret-file is empty/,
    );
    for (const text of ['secret \n', 'é\n', 'secret\n\n']) {
      const file = join(folder.path, 'unsendable');
      await writeFile(file, text);
      await assert.rejects(
        clashApiCommand([...where, '--clash-secret-file', file], new CapturedIo(env)),
        /the secret in the file of --clash-secret-file has white space at an end, or/,
      );
      await assert.rejects(
        metricsCommand(['--listen', '127.0.0.1:0', '--token-file', file], new CapturedIo(env)),
        /the secret in the file of --token-file has white space at an end, or/,
      );
    }
    await assert.rejects(
      metricsCommand(['--listen', '127.0.0.1:0', '--token-file', empty], new CapturedIo(env)),
      /the file of --token-file is empty/,
    );
    for (const [ui, reason] of [
      [join(folder.path, 'nothing'), /weir clash-api: --ui .*nothing: .*no such file/],
      [empty, /weir clash-api: --ui .*empty: it is not a folder/],
    ] as const) {
      const io = new CapturedIo(env);
      assert.equal(await clashApiCommand([...where, '--ui', ui], io), 1);
      assert.match(io.err, reason);
    }
  });
});
