import { mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { OWN } from '../../packaging/manifest.ts';
import { ROOT } from '../../packaging/root.ts';
import { runTool } from '../../packaging/tool.ts';
import { eventually } from '../support/wait.ts';

/** A folder in which all forms of this checkout are built while the files of the suite are run. */
const BUILT = 'WEIR_TEST_BUILT';

/** Longer than a build takes on a busy machine. */
const PATIENCE_MS = 170_000;

export const TARBALL = `${OWN.name}-${OWN.version}.tgz`;
/** The package for hosts. */
export const ENGINE = `weir-engine-${OWN.version}.tgz`;
export const DEB = `weir_${OWN.version}_${process.arch === 'x64' ? 'amd64' : process.arch}.deb`;

let building = Promise.resolve();

/** Before and after all test files of a run, which are processes of their own. */
export async function globalSetup(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'weir-built-'));
  process.env[BUILT] = folder;
  const ends = async (error: string): Promise<void> => {
    await writeFile(join(folder, 'error'), error);
    await rename(join(folder, 'error'), join(folder, 'ended'));
  };
  building = buildHere(folder).then(
    () => ends(''),
    (error: unknown) => ends(String(error)),
  );
}

export async function globalTeardown(): Promise<void> {
  await building;
  await rm(process.env[BUILT] ?? '', { recursive: true, force: true });
}

/**
 * The folder with all forms of this checkout, which are shared: tests copy what they change. A test file that is
 * run by itself builds them.
 */
export async function builtForms(): Promise<AsyncDisposable & { readonly path: string }> {
  const shared = process.env[BUILT];
  if (shared === undefined) {
    const own = await mkdtemp(join(tmpdir(), 'weir-built-'));
    const dispose = () => rm(own, { recursive: true, force: true });
    await buildHere(own);
    return { path: formsIn(own), [Symbol.asyncDispose]: dispose };
  }
  const ended = join(shared, 'ended');
  const error = await eventually(
    'the build of all forms',
    () => readFile(ended, 'utf8').catch(() => undefined),
    PATIENCE_MS,
  );
  if (error !== '') throw new Error(error);
  return { path: formsIn(shared), [Symbol.asyncDispose]: () => Promise.resolve() };
}

const formsIn = (folder: string): string => join(folder, 'forms');

const buildHere = (folder: string): Promise<void> =>
  buildForms(ROOT, { out: formsIn(folder), umask: '022', env: {} });

export interface Build {
  readonly out: string;
  readonly umask: string;
  readonly env: Readonly<Record<string, string>>;
}

/** Builds all forms of a checkout. */
export async function buildForms(root: string, { out, umask, env }: Build): Promise<void> {
  const { SOURCE_DATE_EPOCH: _, ...inherited } = process.env;
  const script = 'umask "$1"; shift; exec "$@"';
  const program = [process.execPath, join(root, 'packaging/package.ts'), '--fast', '--out', out];
  await runTool('sh', ['-c', script, 'sh', umask, ...program], {
    env: { ...inherited, ...env },
  });
}
