import { mkdir, readFile, readdir, writeFile } from 'node:fs/promises';
import { dirname, join, relative, resolve } from 'node:path';
import { build, transform, type BuildOptions, type Metafile, type Plugin } from 'esbuild';
import { DIRECT_IMPORTS } from './direct-imports.ts';
import { loadBuiltinsLate } from './lazy-builtins.ts';
import { DIST, ROOT } from './root.ts';
import { sourceCommit } from './source-commit.ts';
import { wrapChunk } from './substitutes/executable/chunks.ts';

/** Files of the source that a bundle replaces, by path from the root of the repository. */
type Substitutes = Readonly<Record<string, string>>;

const IN_PACKAGE: Substitutes = {
  'packages/io/src/platform/addons.ts': 'packaging/substitutes/package/addons.ts',
  'packages/watch/src/dashboard/files/load-page-files.ts':
    'packaging/substitutes/package/load-page-files.ts',
  'packages/io/src/platform/process/own-build.ts': 'packaging/substitutes/package/own-build.ts',
};

const IN_ENGINE: Substitutes = {
  'packages/io/src/platform/addons.ts': 'packaging/substitutes/package/addons.ts',
  'packages/io/src/platform/process/own-build.ts': 'packaging/substitutes/package/own-build.ts',
};

const IN_EXECUTABLE: Substitutes = {
  'packages/io/src/platform/addons.ts': 'packaging/substitutes/executable/addons.ts',
  'packages/server/src/app/loading/start-thread.ts':
    'packaging/substitutes/executable/start-thread.ts',
  'packages/watch/src/dashboard/reader/start-file-thread.ts':
    'packaging/substitutes/executable/start-file-thread.ts',
  'packages/watch/src/dashboard/files/load-page-files.ts':
    'packaging/substitutes/package/load-page-files.ts',
  'packages/io/src/platform/process/own-build.ts': 'packaging/substitutes/package/own-build.ts',
  'packaging/substitutes/package/assets.ts': 'packaging/substitutes/executable/assets.ts',
};

/** The thread that reads configurations. */
const CONFIG_THREAD = 'packages/server/src/app/loading/thread-main.ts';

/** The code of threads. */
const THREADS: readonly string[] = [
  CONFIG_THREAD,
  'packages/watch/src/dashboard/reader/file-thread-main.ts',
];

const TARGET = 'node24';

/** For packages in CommonJS, which call `require` for modules of Node: esbuild uses one that is there. */
const REQUIRE =
  "import { createRequire as requireFor } from 'node:module'; const require = requireFor(import.meta.url);";

/**
 * The modules of the published package: `main.js`, `index.js` and those of threads, and what they share.
 * A command loads no more than it needs.
 */
export const bundlePackage = (folder: string): Promise<Metafile> =>
  bundle(IN_PACKAGE, {
    entryPoints: ['packages/weir/src/main.js', 'packages/weir/src/index.ts', ...THREADS],
    entryNames: '[name]',
    outdir: folder,
    format: 'esm',
    splitting: true,
    sourcemap: 'linked',
    sourcesContent: false,
    banner: { js: REQUIRE },
  });

/** The modules of the package for hosts: `index.js`, that of a thread, and what they share. */
export const bundleEngine = (folder: string): Promise<Metafile> =>
  bundle(IN_ENGINE, {
    entryPoints: ['packages/weir/src/index.ts', CONFIG_THREAD],
    entryNames: '[name]',
    outdir: folder,
    format: 'esm',
    splitting: true,
    banner: { js: REQUIRE },
  });

/**
 * The chunks of the executable: `program.js`, those of threads, what they share, and what they import
 * later. Each is a script with one function, which takes what a CommonJS module does.
 */
export async function bundleChunks(folder: string): Promise<Metafile> {
  const metafile = await bundle(IN_EXECUTABLE, {
    entryPoints: ['packaging/program.ts', ...THREADS],
    entryNames: '[name]',
    outdir: folder,
    format: 'esm',
    splitting: true,
    // rregex has it in a branch that is not reached.
    define: { 'import.meta.url': 'undefined' },
  });
  await refuseImportMeta(metafile);
  // Chunks are modules to esbuild, which V8 keeps no code cache of that has functions in it.
  for (const name of await readdir(folder)) {
    const path = join(folder, name);
    const { code } = await transform(await readFile(path, 'utf8'), {
      format: 'cjs',
      platform: 'node',
      target: TARGET,
      supported: { 'dynamic-import': false },
    });
    await writeFile(path, wrapChunk(loadBuiltinsLate(code)));
  }
  return metafile;
}

/**
 * Files that are imported late would throw only then.
 * @throws {Error} for a file of Weir's own that uses `import.meta`, which a script does not have
 */
async function refuseImportMeta({ inputs }: Metafile): Promise<void> {
  for (const name of Object.keys(inputs)) {
    if (!/^(?:packages|packaging)\//.test(name)) continue;
    if (/\bimport\.meta\b/.test(await readFile(join(ROOT, name), 'utf8'))) {
      throw new Error(`${name} uses import.meta, which the executable does not have`);
    }
  }
}

/** The scripts of the executable that load chunks: `executable-main.js` and `executable-thread.js`. */
export const bundleLoaders = (folder: string): Promise<Metafile> =>
  bundle(
    {},
    {
      entryPoints: ['packaging/executable-main.ts', 'packaging/executable-thread.ts'],
      entryNames: '[name]',
      outdir: folder,
      format: 'cjs',
    },
  );

/** The modules of a package that stands alone: its entries, and what they share. koffi is not among them. */
export const bundleEntries = (
  source: string,
  entries: readonly string[],
  folder: string,
): Promise<Metafile> =>
  bundle(
    {},
    {
      entryPoints: [...entries],
      entryNames: '[dir]/[name]',
      outbase: source,
      outdir: folder,
      format: 'esm',
      splitting: true,
    },
  );

/** @param options with the folder of the output, which is built as if it were `dist`. */
async function bundle(
  substitutes: Substitutes,
  { outdir: folder, ...options }: BuildOptions & { readonly outdir: string },
): Promise<Metafile> {
  const { metafile, outputFiles, warnings } = await build({
    ...options,
    define: {
      ...options.define,
      WEIR_BUILD: JSON.stringify((await sourceCommit()) ?? null),
    },
    // Source maps have paths from there, and the names of chunks a hash of them.
    outdir: DIST,
    write: false,
    absWorkingDir: ROOT,
    bundle: true,
    platform: 'node',
    target: TARGET,
    legalComments: 'none', // packaging/notices.ts has the licences.
    logLevel: 'warning',
    metafile: true,
    plugins: [substitute(substitutes), DIRECT_IMPORTS, LAZY_HTTP],
  });
  if (warnings.length > 0) throw new Error('the bundle has warnings');
  for (const { path, contents } of outputFiles) {
    const file = join(folder, relative(DIST, path));
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, contents);
  }
  const unused = Object.values(substitutes).filter((path) => !(path in metafile.inputs));
  if (unused.length > 0) throw new Error(`nothing imports what ${unused.join(', ')} replaces`);
  return metafile;
}

/** Marks the question of where an entry of a package is, which esbuild answers. */
const RESOLVING = Symbol('resolving');

/** Replaces files, and rregex by a form that bundles can contain. */
const substitute = (substitutes: Substitutes): Plugin => ({
  name: 'substitute',
  setup(builder) {
    const byPath = new Map(
      Object.entries(substitutes).map(([from, to]) => [join(ROOT, from), join(ROOT, to)]),
    );
    builder.onResolve({ filter: /^(?:\.{1,2}|@weir)\// }, async (asked) => {
      if (asked.pluginData === RESOLVING) return undefined;
      const { path, resolveDir, kind, importer } = asked;
      const found = path.startsWith('.')
        ? resolve(resolveDir, path)
        : (await builder.resolve(path, { resolveDir, kind, importer, pluginData: RESOLVING })).path;
      const to = byPath.get(found);
      return to === undefined ? undefined : { path: to };
    });
    builder.onResolve({ filter: /^rregex$/ }, () => ({
      path: join(ROOT, 'packaging/substitutes/rregex.ts'),
    }));
  },
});

/**
 * An `import` of node:http reads all that it exports. One of that is a getter which loads the whole of
 * Node's fetch, a tenth of the processor time of a start.
 */
const LAZY_HTTP: Plugin = {
  name: 'lazy-http',
  setup(builder) {
    const namespace = 'lazy-http';
    builder.onResolve({ filter: /^node:http$/ }, ({ path }) => ({ path, namespace }));
    builder.onLoad({ filter: /./, namespace }, ({ path }) => ({
      contents: `module.exports = process.getBuiltinModule(${JSON.stringify(path)});`,
    }));
  },
};

/**
 * The packages whose code is in bundles, by the folder of each.
 * @param beside folders of those that go with it in another form.
 */
export async function packagesIn(
  bundles: readonly Metafile[],
  beside: readonly string[],
): Promise<Packages> {
  const folders = new Set(beside);
  for (const input of bundles.flatMap(({ inputs }) => Object.keys(inputs))) {
    const [, folder] = /^(node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(input) ?? [];
    if (folder !== undefined) folders.add(folder);
  }
  const found = new Map<string, Manifest>();
  for (const folder of [...folders].toSorted()) {
    const text = await readFile(join(ROOT, folder, 'package.json'), 'utf8');
    found.set(folder, JSON.parse(text) as Manifest);
  }
  return found;
}

/** Packages by the folder of each, relative to the repository. */
export type Packages = ReadonlyMap<string, Manifest>;

/** As much of a package.json as is read. */
export interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly license?: string;
}
