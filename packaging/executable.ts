import { copyFile, mkdir, readdir, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join, relative } from 'node:path';
import { bundleChunks, bundleLoaders, packagesIn } from './bundle.ts';
import { makeCodeCaches } from './code-cache/warm-up.ts';
import { notices } from './notices.ts';
import { ROOT } from './root.ts';
import { hasTool, runTool } from './tool.ts';

const PLATFORM = `${process.platform}-${process.arch}`;

/** The platforms for which koffi's package has a binary for the C library that Node is built for. */
const KOFFI: Readonly<Record<string, string>> = {
  'linux-x64': 'linux_x64',
  'linux-arm64': 'linux_arm64',
};

/** Why there can be no executable for this machine; `undefined` when there can. */
export function executableObstacle(): string | undefined {
  if (KOFFI[PLATFORM] === undefined)
    return `it is built on Linux, x64 or arm64; this is ${PLATFORM}`;
  return undefined;
}

/** Options of Node and V8 under which the executable runs. */
const EXEC_ARGV: readonly string[] = [];

/**
 * One file that contains Node, the program and its native parts, for the machine that builds it.
 * @param work a folder for what it is made of.
 * @returns the licences of all that.
 */
export async function buildExecutable(output: string, work: string): Promise<string> {
  await mkdir(work, { recursive: true });
  const chunks = join(work, 'chunks');
  const bundled = await bundleChunks(chunks);
  await bundleLoaders(work);
  const node = await smallerNode(work);
  const assets = {
    'executable-thread.js': join(work, 'executable-thread.js'),
    'rregex.wasm': join(ROOT, 'node_modules/rregex/lib/rregex.wasm'),
    'koffi.node': koffiBinary(),
    ...(await bufferUtilAsset()),
    ...(await filesOf(chunks)),
  };
  const folder = join(work, 'code-cache');
  const main = join(work, 'warm-main.js');
  await makeCodeCaches({ node, execArgv: EXEC_ARGV, main, assets, folder });
  const config = {
    main: join(work, 'executable-main.js'),
    mainFormat: 'commonjs',
    output,
    executable: node,
    disableExperimentalSEAWarning: true,
    useCodeCache: true,
    // NODE_OPTIONS works as for node; command lines belong to Weir alone.
    execArgvExtension: 'env',
    execArgv: EXEC_ARGV,
    assets: { ...assets, ...(await filesOf(folder, '.cache')) },
  };
  const path = join(work, 'sea.json');
  await writeFile(path, JSON.stringify(config, null, 2));
  await runTool(process.execPath, ['--build-sea', path]);
  const beside = ['node_modules/bufferutil', 'node_modules/koffi', nodePackage()];
  return notices(await packagesIn(bundled, beside));
}

/** The files of a folder, by name and `suffix`. */
async function filesOf(folder: string, suffix = ''): Promise<Record<string, string>> {
  const names = await readdir(folder);
  return Object.fromEntries(names.map((name) => [name + suffix, join(folder, name)]));
}

/** Without the symbols for debuggers a fifth smaller; what native parts link to stays. */
async function smallerNode(work: string): Promise<string> {
  if (!(await hasTool('strip'))) return process.execPath;
  const copy = join(work, 'node');
  await copyFile(process.execPath, copy);
  await runTool('strip', ['--strip-unneeded', copy]);
  return copy;
}

/** The folder of the package that the Node of this project is from, for its licence. */
function nodePackage(): string {
  const manifest = join(ROOT, 'node_modules/node/package.json');
  try {
    const binary = createRequire(manifest).resolve(`node-${PLATFORM}/package.json`);
    return relative(ROOT, dirname(binary));
  } catch {
    // A later `npm install` removes it, for the script that has installed it is not in the lock file.
    return relative(ROOT, dirname(manifest));
  }
}

function koffiBinary(): string {
  const manifest = createRequire(import.meta.url).resolve(
    `@koromix/koffi-${PLATFORM}/package.json`,
  );
  return join(manifest, '..', KOFFI[PLATFORM] ?? '', 'koffi.node');
}

/** None where there is no binary: the JavaScript form is in the bundle. */
async function bufferUtilAsset(): Promise<Record<string, string>> {
  const folder = join(ROOT, 'node_modules/bufferutil/prebuilds');
  if (!(await readdir(folder)).includes(PLATFORM)) return {};
  return { 'bufferutil.node': join(folder, PLATFORM, 'bufferutil.node') };
}
