import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { hasTool, runTool } from '../../packaging/tool.ts';
import { scratch } from '../support/process/weir.ts';
import { assertions, constants } from './layouts.ts';
import { arm64Machine } from './machine.ts';

/*
 * Numbers and layouts of the source against the headers of both architectures. A compiler for x64
 * reads those of arm64 as well: the types in question have one size and alignment on both.
 */

const withoutCompiler = (await hasTool('cc')) ? false : 'there is no C compiler in the PATH';

test('the constants of the source are found', () => {
  assert.ok(constants().size > 150, String(constants().size));
});

test(
  'a C compiler confirms numbers and layouts on this machine',
  { skip: withoutCompiler },
  async () => compile([]),
);

test('a C compiler confirms numbers and layouts on arm64', { skip: withoutCompiler }, async (t) => {
  const machine = await arm64Machine();
  if (typeof machine === 'string') return t.skip(machine);
  const own = await runTool('cc', ['-print-file-name=include']);
  const headers = join(machine.root, 'usr/include');
  await compile([
    '-nostdinc',
    ...[own.trim(), join(headers, 'aarch64-linux-gnu'), headers].flatMap((path) => [
      '-isystem',
      path,
    ]),
    '-U__x86_64__',
    '-D__aarch64__',
    '-D__AARCH64EL__',
  ]);
});

async function compile(options: readonly string[]): Promise<void> {
  await using folder = await scratch();
  const file = join(folder.path, 'layouts.c');
  await writeFile(file, assertions());
  await runTool('cc', ['-fsyntax-only', ...options, file]);
}
