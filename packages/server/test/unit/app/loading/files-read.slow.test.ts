import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { once } from 'node:events';
import { constants, openSync } from 'node:fs';
import { mkdir, mkdtemp, rename, rm, utimes, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test, type TestContext } from 'node:test';
import { FileDigests, ReadBudgetError } from '../../../../src/app/loading/file-digests.ts';
import { FileReadError } from '@weir/config/documents';
import { makeNamedPipe } from '../../../../../../test/support/files/named-pipe.ts';

/** A folder that is removed with the test, and the path of a file in it. */
async function scratch(context: TestContext): Promise<{ folder: string; file: string }> {
  const folder = await mkdtemp(join(tmpdir(), 'weir-files-'));
  context.after(() => rm(folder, { recursive: true }));
  return { folder, file: join(folder, 'a') };
}

const refusal = (reason: string) => (error: unknown) =>
  error instanceof FileReadError && error.message === reason;

describe('a file', () => {
  test('is read as it is, however long', async (context) => {
    const { file } = await scratch(context);
    for (const length of [0, 1, 256 * 1024, 256 * 1024 + 1, 1_000_000]) {
      const content = Buffer.alloc(length, 'some text, over and over. ');
      await writeFile(file, content);
      for (const blocking of [false, true]) {
        const files = new FileDigests(Infinity, blocking);
        assert.ok(content.equals(await files.read(file)), `${length} bytes`);
        assert.equal(await files.sha256(file), hash('sha256', content));
        assert.ok(await files.unchanged());
      }
    }
  });

  test('has the same reason for not being read when that blocks', async (context) => {
    const { folder } = await scratch(context);
    const pipe = join(folder, 'pipe');
    makeNamedPipe(pipe);
    for (const path of [folder, pipe, join(folder, 'absent'), 'a\0b']) {
      const [waiting, blocking] = await Promise.all(
        [false, true].map((mode) => new FileDigests(Infinity, mode).read(path).catch(String)),
      );
      assert.equal(typeof blocking, 'string', path);
      assert.equal(blocking, waiting);
    }
    await assert.rejects(new FileDigests(1, true).read(process.execPath), ReadBudgetError);
  });

  test('that is expected to hold some bytes is unchanged once it does', async (context) => {
    const { file } = await scratch(context);
    await writeFile(file, 'before');
    const files = new FileDigests();
    files.expect(file, Buffer.from('after'));
    assert.ok(!(await files.unchanged()));
    await writeFile(file, 'after');
    assert.ok(await files.unchanged());
    assert.deepEqual(files.paths, [file]);
  });

  test('that cannot be read has a reason in words', async (context) => {
    const { folder, file } = await scratch(context);
    const files = new FileDigests();
    const missing = refusal('no such file or directory');
    await assert.rejects(files.read(file), missing);
    await assert.rejects(files.sha256(file), missing);
    await assert.rejects(files.read(''), missing);
    await assert.rejects(files.read(folder), refusal('is a directory'));
    await writeFile(file, '');
    await assert.rejects(files.read(`${file}/b`), refusal('not a directory'));
    await assert.rejects(files.read('a\u0000b'), refusal('a path has no null bytes'));
    await assert.rejects(
      files.read(`${folder}/${'x'.repeat(300)}`),
      refusal('the name is too long'),
    );
  });
});

describe('what is not a file', () => {
  test('is refused before it can block a thread, with what it is', async (context) => {
    const { folder, file } = await scratch(context);
    makeNamedPipe(file);
    const files = new FileDigests();
    const pipe = refusal('is a pipe, not a regular file');
    await assert.rejects(files.read(file), pipe);
    await assert.rejects(files.sha256(file), pipe);
    assert.ok(await files.unchanged());
    const device = refusal('is a character device, not a regular file');
    await assert.rejects(files.read('/dev/zero'), device);
    const socket = join(folder, 's');
    const server = createServer().listen(socket);
    await once(server, 'listening');
    await assert.rejects(files.read(socket), refusal('is a socket, not a regular file'));
    server.close();
  });

  test('leaves the writer of a pipe alone', async (context) => {
    const { file } = await scratch(context);
    makeNamedPipe(file);
    await assert.rejects(new FileDigests().read(file));
    // Without a reader, an open for writing that does not wait fails.
    const flags = constants.O_WRONLY | constants.O_NONBLOCK;
    assert.throws(() => openSync(file, flags), { code: 'ENXIO' });
  });
});

describe('files are unchanged', () => {
  test('when there are none', async () => {
    assert.ok(await new FileDigests().unchanged());
  });

  test('when only their dates are new, or the file behind the name', async (context) => {
    const { folder, file } = await scratch(context);
    await writeFile(file, 'one');
    const files = new FileDigests();
    await files.read(file);
    await utimes(file, 1, 1);
    assert.ok(await files.unchanged());
    await writeFile(join(folder, 'b'), 'one');
    await rename(join(folder, 'b'), file);
    assert.ok(await files.unchanged());
  });

  test('when they still cannot be read for the same reason', async (context) => {
    const { folder, file } = await scratch(context);
    const files = new FileDigests();
    for (const path of [file, folder, 'a\u0000b']) await assert.rejects(files.read(path));
    assert.ok(await files.unchanged());
  });

  test('when they have changed and are again as they were', async (context) => {
    const { file } = await scratch(context);
    await writeFile(file, 'one');
    const files = new FileDigests();
    await files.sha256(file);
    await writeFile(file, 'two');
    assert.ok(!(await files.unchanged()));
    await writeFile(file, 'one');
    assert.ok(await files.unchanged());
  });
});

describe('files are changed', () => {
  test('when one of them is, even in its last byte alone', async (context) => {
    const { folder, file } = await scratch(context);
    const large = join(folder, 'large');
    await writeFile(file, 'one');
    await writeFile(large, Buffer.alloc(300_000));
    const files = new FileDigests();
    await files.read(file);
    await files.sha256(large);
    assert.ok(await files.unchanged());
    await writeFile(large, Buffer.concat([Buffer.alloc(299_999), Buffer.of(1)]));
    assert.ok(!(await files.unchanged()));
  });

  test('when one is gone, has come, or is something else', async (context) => {
    const { file } = await scratch(context);
    await writeFile(file, 'one');
    const there = new FileDigests();
    await there.read(file);
    await rm(file);
    assert.ok(!(await there.unchanged()));

    const gone = new FileDigests();
    await assert.rejects(gone.read(file));
    await mkdir(file);
    assert.ok(!(await gone.unchanged()));
    await rm(file, { recursive: true });
    assert.ok(await gone.unchanged());
    await writeFile(file, '');
    assert.ok(!(await gone.unchanged()));
  });

  test('when one changed between two reads, for the load has seen both', async (context) => {
    const { file } = await scratch(context);
    await writeFile(file, 'one');
    const files = new FileDigests();
    await files.sha256(file);
    await writeFile(file, 'two');
    await files.read(file);
    assert.ok(!(await files.unchanged()));
    await writeFile(file, 'one');
    assert.ok(!(await files.unchanged()));
  });
});
