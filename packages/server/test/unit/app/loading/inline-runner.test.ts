import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { InlineRunner } from '../../../../src/app/loading/inline-runner.ts';
import { FileDigests, ReadBudgetError } from '../../../../src/app/loading/file-digests.ts';
import { RegexCache } from '@weir/proxy/names';
import { scratch } from '../../../../../../test/support/process/weir.ts';

const CONFIG = '[[outbound]]\ntag = "a"\nprotocol = "freedom"\n';

const runner = new InlineRunner({ limit: CONFIG.length, regexes: new RegexCache() });

describe('a task in the calling thread', () => {
  test('may read as many bytes as the limit, and reports the files', async () => {
    await using folder = await scratch();
    const path = join(folder.path, 'weir.toml');
    await writeFile(path, CONFIG);
    const files = new FileDigests();
    const task = { kind: 'load', path, bytes: undefined, serveApi: true } as const;
    const { spec } = await runner.run(task, { files });
    assert.deepEqual(
      spec.outbounds.map(({ tag }) => tag),
      ['a'],
    );
    assert.deepEqual(files.paths, [path]);
  });

  test('rejects when its files, or the bytes that it is given, are longer', async () => {
    await using folder = await scratch();
    const path = join(folder.path, 'weir.toml');
    const long = `${CONFIG}#`;
    await writeFile(path, long);
    const bytes = Buffer.from(long);
    const edit = { bytes, subscribe: false, group: 'default', target: 'a' };
    for (const task of [
      { kind: 'load', path, bytes: undefined, serveApi: true },
      { kind: 'load', path: undefined, bytes, serveApi: true },
      { kind: 'routes', path },
      { kind: 'edit', path, ...edit },
    ] as const) {
      await assert.rejects(runner.run(task), ReadBudgetError, task.kind);
    }
  });

  test('reports the files of a load that has failed', async () => {
    await using folder = await scratch();
    const path = join(folder.path, 'weir.toml');
    await writeFile(path, '[[outbound]]');
    const files = new FileDigests();
    const task = { kind: 'load', path, bytes: undefined, serveApi: true } as const;
    await assert.rejects(runner.run(task, { files }));
    assert.deepEqual(files.paths, [path]);
  });
});
