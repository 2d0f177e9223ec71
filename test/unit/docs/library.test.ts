import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { CONFIG_TYPES, configTypes } from '../../../tools/library/config-types.ts';
import { libraryReference, REFERENCE } from '../../../tools/library/reference.ts';
import { scratch } from '../../support/process/weir.ts';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));

test('the types of a configuration are those of its decoders: `npm run docs:library` writes them', async () => {
  await using folder = await scratch();
  const path = join(folder.path, 'config-types.ts');
  await writeFile(path, await configTypes());
  const config = ['--config', join(ROOT, '.oxfmtrc.json')];
  await promisify(execFile)(join(ROOT, 'node_modules/.bin/oxfmt'), [...config, path]);
  assert.equal(await readFile(path, 'utf8'), await readFile(join(ROOT, CONFIG_TYPES), 'utf8'));
});

test('the reference of the library is that of its docstrings: `npm run docs:library` writes it', async () => {
  assert.equal(await readFile(join(ROOT, REFERENCE), 'utf8'), libraryReference());
});
