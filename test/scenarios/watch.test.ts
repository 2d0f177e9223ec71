import assert from 'node:assert/strict';
import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { freedom, socksIn } from '../support/process/config.ts';
import { within } from '../support/wait.ts';
import { scratch, weirCommand } from '../support/process/weir.ts';

const config = (...tags: string[]): string =>
  tags.map((tag) => socksIn(tag)).join('\n') + freedom();

test('--watch continues after the folder of the configuration is replaced, or removed for a while', async () => {
  await using folder = await scratch();
  const at = (...names: string[]): string => join(folder.path, ...names);
  const file = at('live', 'weir.toml');
  await mkdir(at('live'));
  await writeFile(file, config('a'));
  await using weir = weirCommand(['--watch', '--config', file], {
    env: { RUST_LOG: 'debug' },
  });
  const listens = (tag: string): Promise<true> =>
    weir.until(`inbound ${tag}`, ({ stderr }) =>
      stderr.includes(`inbound ${tag} listening`) ? true : undefined,
    );
  await listens('a');
  await mkdir(at('next'));
  await writeFile(at('next', 'weir.toml'), config('a', 'b'));
  await rename(at('live'), at('old'));
  await rename(at('next'), at('live'));
  await listens('b');
  await writeFile(file, config('a', 'b', 'c'));
  await listens('c');
  await rm(at('live'), { recursive: true });
  await weir.until('the failure', ({ stderr }) =>
    / ERROR .*no such file/.test(stderr) ? true : undefined,
  );
  await mkdir(at('live'));
  await writeFile(file, config('a', 'b', 'c', 'd'));
  await listens('d');
  weir.signal('SIGTERM');
  assert.deepEqual(await within(weir.exited, 'the end'), { code: 0, signal: null });
});
