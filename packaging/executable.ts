import { copyFile, mkdir, readdir, writeFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { bundleChunks, bundleLoaders, packagesIn, type Packages } from './bundle.ts';
import { makeCodeCaches } from './code-cache/make-code-caches.ts';
import { notices } from './notices.ts';
import { packPage } from './page.ts';
import { ROOT } from './root.ts';
import { PACKED_PAGE } from './substitutes/package/packed-page.ts';
import {
  findTarget,
  ownArchitecture,
  targetObstacle,
  type Architecture,
  type Target,
} from './target.ts';
import { hasTool, REPEATABLE, runTool } from './tool.ts';

/** Why there can be no executable for this machine; `undefined` when there can. */
export const executableObstacle = (): string | undefined => targetObstacle();

export interface ExecutableOptions {
  /** What it runs on; this machine by default. */
  readonly arch?: Architecture;
  /**
   * A program with its arguments that runs Node of another architecture here. Without it such an
   * executable has no code cache, which V8 makes for its own architecture alone, and starts slower.
   */
  readonly emulator?: readonly string[];
  /** A folder that keeps what is fetched for another architecture; `work` by default. */
  readonly fetched?: string;
}

/** What an executable contains beside Weir. */
export interface ExecutableContents {
  readonly packages: Packages;
  /** The licences of all that. */
  readonly notices: string;
  /** The binary of Node that it is a copy of, with its symbols. */
  readonly node: string;
}

/** Options of Node and V8 under which the executable runs. */
const EXEC_ARGV: readonly string[] = [];

/**
 * One file that contains Node, the program and its native parts.
 * @param work a folder for what it is made of.
 */
export async function buildExecutable(
  output: string,
  work: string,
  { arch = ownArchitecture(), emulator = [], fetched = work }: ExecutableOptions = {},
): Promise<ExecutableContents> {
  await mkdir(work, { recursive: true });
  const target = await findTarget(arch, fetched);
  const chunks = join(work, 'chunks');
  const bundled = await bundleChunks(chunks);
  await bundleLoaders(work);
  const { page, metafile } = await packPage();
  await writeFile(join(work, PACKED_PAGE), JSON.stringify(page));
  const node = await smallerNode(target, work);
  const assets = {
    'executable-thread.js': join(work, 'executable-thread.js'),
    'rregex.wasm': join(ROOT, 'node_modules/rregex/lib/rregex.wasm'),
    'koffi.node': target.koffi,
    [PACKED_PAGE]: join(work, PACKED_PAGE),
    ...(await bufferUtilAsset(arch)),
    ...(await filesOf(chunks)),
  };
  const folder = join(work, 'code-cache');
  await mkdir(folder);
  const runsHere = target.isOwn || emulator.length > 0;
  const prefix = target.isOwn ? [] : emulator;
  if (runsHere) await makeCodeCaches({ prefix, node, execArgv: EXEC_ARGV, chunks, folder });
  const config = {
    // Relative: the executable has it as the name of its script.
    main: 'executable-main.js',
    mainFormat: 'commonjs',
    output,
    executable: node,
    disableExperimentalSEAWarning: true,
    useCodeCache: runsHere,
    // NODE_OPTIONS works as for node; command lines belong to Weir alone.
    execArgvExtension: 'env',
    execArgv: EXEC_ARGV,
    assets: { ...assets, ...(await filesOf(folder, '.cache')) },
  };
  const path = join(work, 'sea.json');
  await writeFile(path, JSON.stringify(config, null, 2));
  const builder = runsHere ? target.node : process.execPath;
  const [program = builder, ...args] = prefix;
  const words = program === builder ? [] : [...args, builder];
  await runTool(program, [...words, ...REPEATABLE, '--build-sea', path], { cwd: work });
  const beside = ['node_modules/bufferutil', 'node_modules/koffi', target.nodePackage];
  const licensed = await packagesIn([bundled, metafile], beside);
  // The binary of koffi is a package of its own, under the licence of koffi.
  const koffi = relative(ROOT, dirname(dirname(target.koffi)));
  const packages = await packagesIn([bundled, metafile], [...beside, koffi]);
  return { packages, notices: await notices(licensed), node: target.node };
}

/** GNU's names of architectures, which programs for other ones begin with. */
const GNU: Readonly<Record<Architecture, string>> = { x64: 'x86_64', arm64: 'aarch64' };

/** The files of a folder, by name and `suffix`. */
async function filesOf(folder: string, suffix = ''): Promise<Record<string, string>> {
  const names = (await readdir(folder)).toSorted();
  return Object.fromEntries(names.map((name) => [name + suffix, join(folder, name)]));
}

/** Without the symbols for debuggers a fifth smaller; what native parts link to stays. */
async function smallerNode({ node, arch, isOwn }: Target, work: string): Promise<string> {
  const strip = isOwn ? 'strip' : `${GNU[arch]}-linux-gnu-strip`;
  if (!(await hasTool(strip))) return node;
  const copy = join(work, 'node');
  await copyFile(node, copy);
  await runTool(strip, ['--strip-unneeded', copy]);
  return copy;
}

/** None where there is no binary: the JavaScript form is in the bundle. */
async function bufferUtilAsset(arch: Architecture): Promise<Record<string, string>> {
  const folder = join(ROOT, 'node_modules/bufferutil/prebuilds');
  const platform = `linux-${arch}`;
  if (!(await readdir(folder)).includes(platform)) return {};
  return { 'bufferutil.node': join(folder, platform, 'bufferutil.node') };
}
