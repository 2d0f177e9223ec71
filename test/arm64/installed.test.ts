import assert from 'node:assert/strict';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test, type TestContext } from 'node:test';
import { buildDebian, LIBRARIES } from '../../packaging/debian.ts';
import { buildExecutable } from '../../packaging/executable.ts';
import { hasTool, runTool } from '../../packaging/tool.ts';
import { tryOut } from '../packaging/trial.ts';
import { scratch } from '../support/process/weir.ts';
import { arm64Machine, FETCHED, type Machine } from './machine.ts';
import { shared } from '../support/shared.ts';

/*
 * What is installed, on arm64. qemu translates machine code and system calls: what is shown is that both are made for
 * the architecture, not how the kernel of such a machine behaves.
 */

/** `EM_AARCH64` of elf(5). */
const EM_AARCH64 = 183;

let folder: Awaited<ReturnType<typeof scratch>>;
let machine: Machine | string = '';
let notices = '';
const at = (path: string): string => join(folder.path, path);

shared(async (use) => {
  folder = use(await scratch());
  machine = await arm64Machine();
  if (typeof machine === 'string') return;
  // Without the emulator, which would make a code cache in half a minute.
  ({ notices } = await buildExecutable(at('weir'), at('work'), {
    arch: 'arm64',
    fetched: FETCHED,
  }));
});

const emulated = (name: string, run: (t: TestContext, machine: Machine) => Promise<void>): void =>
  void test(name, async (t) => {
    if (typeof machine === 'string') t.skip(machine);
    else await run(t, machine);
  });

describe('on arm64', () => {
  emulated('the executable serves by kernel sockets, TLS and QUIC', async (t, { emulator }) => {
    const file = await open(at('weir'));
    const head = Buffer.alloc(20);
    await file.read(head);
    await file.close();
    assert.equal(head.readUInt16LE(18), EM_AARCH64);
    await tryOut(t, {
      command: at('weir'),
      env: { PATH: '' },
      prefix: emulator,
      folder: at('files'),
    });
  });

  emulated('the Debian package is for arm64, and depends on what Node is linked to', async (t) => {
    if (!(await hasTool('dpkg-deb'))) return t.skip('there is no dpkg-deb in the PATH');
    const path = await buildDebian({
      executable: at('weir'),
      arch: 'arm64',
      notices,
      out: folder.path,
      work: at('work'),
      compression: ['-Znone'],
    });
    assert.match(path, /_arm64\.deb$/);
    const field = (name: string): Promise<string> => runTool('dpkg-deb', ['--field', path, name]);
    assert.equal((await field('Architecture')).trim(), 'arm64');
    const depends = await field('Depends');
    for (const library of await linkedTo(at('weir'))) {
      assert.ok(depends.includes(LIBRARIES.get(library) ?? '?'), `${library}: ${depends}`);
    }
  });
});

/** The shared libraries that a program names (DT_NEEDED), without the dynamic loader. */
async function linkedTo(program: string): Promise<string[]> {
  if (!(await hasTool('readelf'))) return [];
  const output = await runTool('readelf', ['--dynamic', program]);
  // Those of the C library itself, some of which are empty since glibc 2.34.
  const ofLibc = /^(ld-linux|lib(c|m|dl|pthread|rt))[-.]/;
  const names = Array.from(output.matchAll(/\(NEEDED\).*\[(.+)\]/g), ([, name = '']) => name);
  assert.ok(names.includes('libc.so.6'), output);
  return names.filter((name) => !ofLibc.test(name));
}
