import { access, mkdir, readdir, readlink, rm, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { ROOT } from '../../packaging/root.ts';
import { findTarget } from '../../packaging/target.ts';
import { findTool, hasTool, runTool } from '../../packaging/tool.ts';

/*
 * An arm64 machine in user space: qemu runs programs of that architecture, with the libraries of
 * Debian's arm64 packages, on the kernel of this machine. Nothing is installed; what is fetched stays
 * in `.arm64/` for the next run.
 */

export const FETCHED = join(ROOT, '.arm64');

/** Debian's static build runs in other roots as well. */
const EMULATORS = ['qemu-aarch64-static', 'qemu-aarch64'];

/** What Node is linked to, and the headers that a C compiler checks the source against. */
const PACKAGES = ['libc6', 'libgcc-s1', 'libstdc++6', 'libatomic1', 'libc6-dev', 'linux-libc-dev'];

export interface Machine {
  /** A program with its arguments, which runs the arm64 program whose path follows. */
  readonly emulator: readonly string[];
  /** The root folder of its libraries and headers. */
  readonly root: string;
  /** The binary of Node. */
  readonly node: string;
  /** A value for NODE_PATH, by which the source finds the binary of koffi. */
  readonly modules: string;
}

/** The machine, or in a sentence why there is none. */
export async function arm64Machine(): Promise<Machine | string> {
  if (process.platform !== 'linux' || process.arch !== 'x64') return 'it is tested on Linux on x64';
  const found = await Promise.all(EMULATORS.map(findTool));
  const emulator = found.find((path) => path !== undefined);
  if (emulator === undefined)
    return 'there is no qemu-aarch64-static in the PATH (qemu-user-static)';
  try {
    await mkdir(FETCHED, { recursive: true });
    const root = await librariesOf(join(FETCHED, 'root'));
    const { node, koffi } = await findTarget('arm64', FETCHED);
    const modules = join(FETCHED, 'modules');
    await mkdir(join(modules, '@koromix'), { recursive: true });
    const link = join(modules, '@koromix/koffi-linux-arm64');
    const to = dirname(dirname(koffi));
    // Files of the suite come here at the same time.
    if ((await readlink(link).catch(() => undefined)) !== to) {
      await rm(link, { force: true });
      await symlink(to, link);
    }
    return { emulator: [emulator, '-L', root], root, node, modules };
  } catch (error) {
    return `its libraries or its Node cannot be fetched: ${String(error).slice(0, 300)}`;
  }
}

/** Unpacks Debian's packages into a folder; apt verifies them, and this machine's dpkg knows nothing of it. */
async function librariesOf(root: string): Promise<string> {
  const stamp = join(root, 'complete');
  if (
    await access(stamp).then(
      () => true,
      () => false,
    )
  )
    return root;
  if (!(await hasTool('apt-get')) || !(await hasTool('dpkg'))) {
    throw new Error('there is no apt-get and dpkg in the PATH');
  }
  const [state, archives] = [join(FETCHED, 'apt'), join(FETCHED, 'archives')];
  for (const path of [join(state, 'lists/partial'), join(state, 'cache'), archives]) {
    await mkdir(path, { recursive: true });
  }
  const options = [
    'APT::Architecture=arm64',
    'APT::Architectures=arm64',
    'APT::Sandbox::User=root',
    'Acquire::Languages=none',
    `Dir::State::Lists=${join(state, 'lists')}`,
    'Dir::State::Status=/dev/null',
    `Dir::Cache=${join(state, 'cache')}`,
  ].flatMap((option) => ['-o', option]);
  // A source of packages that has none for arm64 is no failure; what is missing shows below.
  await runTool('apt-get', [...options, '-qq', 'update']).catch(() => undefined);
  await runTool(
    'apt-get',
    [...options, '-qq', 'download', ...PACKAGES.map((name) => `${name}:arm64`)],
    {
      cwd: archives,
    },
  );
  for (const file of await readdir(archives)) {
    if (file.endsWith('.deb')) await runTool('dpkg', ['-x', join(archives, file), root]);
  }
  await writeFile(stamp, '');
  return root;
}
