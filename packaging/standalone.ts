import { cp, mkdir, mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { stripTypeScriptTypes } from 'node:module';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { parseArgs } from 'node:util';
import { bundleEntries, packagesIn } from './bundle.ts';
import { keepReachable } from './declarations.ts';
import { LIBRARIES, OWN, type PackageJson, readManifest } from './manifest.ts';
import { notices } from './notices.ts';
import { tarball } from './npm.ts';
import { ROOT } from './root.ts';
import { runTool } from './tool.ts';

/*
 * `npm run package:standalone [-- --out FOLDER]`: the packages that can be used without Weir, as a tarball each. It has
 * the package with what it needs of lower packages inside, as JavaScript, since Node strips no types below
 * `node_modules`; declarations; README.md and the examples. Nothing else has to be installed with it: koffi, which
 * calls functions of the system, is optional.
 */

/** The packages that stand alone. */
export const STANDALONE = ['congestion', 'quic', 'netstack', 'http'] as const;

/** The name of the tarball of a package, as npm has it for `@weir/quic`. */
export const standaloneTarball = (name: string): string => `weir-${name}-${OWN.version}.tgz`;

/** Builds the tarballs of all packages that stand alone in a folder. */
export async function packStandalone(out: string): Promise<void> {
  await mkdir(out, { recursive: true });
  const work = await mkdtemp(join(tmpdir(), 'weir-standalone-'));
  try {
    const types = join(work, 'types');
    await declare(types, work);
    for (const name of STANDALONE) {
      const stage = join(work, name);
      await stagePackage(name, types, stage);
      await writeFile(join(out, standaloneTarball(name)), await tarball(stage));
    }
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

/** Returns the names of the entries of a package, with the path of each from the root. */
const entriesOf = (name: string): readonly (readonly [entry: string, path: string])[] =>
  Object.entries(readManifest(`packages/${name}`).exports as Readonly<Record<string, string>>).map(
    ([entry, path]) => [entry, join('packages', name, path)],
  );

/** Returns the names of packages, and of those of the source that they depend on. */
function withLower(names: readonly string[]): ReadonlySet<string> {
  const found = new Set(names);
  for (const name of found) {
    for (const other of Object.keys(readManifest(`packages/${name}`).dependencies ?? {})) {
      if (other.startsWith('@weir/')) found.add(other.slice('@weir/'.length));
    }
  }
  return found;
}

/** Makes the declarations of all that the packages' entries lead to. @param work a folder for the configuration. */
async function declare(types: string, work: string): Promise<void> {
  const config = {
    extends: join(ROOT, 'tsconfig.build.json'),
    compilerOptions: {
      rootDir: join(ROOT, 'packages'),
      outDir: types,
      declarationMap: false,
      typeRoots: [join(ROOT, 'node_modules/@types')],
    },
    include: [...withLower(STANDALONE)].map((name) => join(ROOT, 'packages', name, 'src')),
  };
  const path = join(work, 'tsconfig.json');
  await writeFile(path, JSON.stringify(config));
  const tsc = join(ROOT, 'node_modules/typescript/bin/tsc');
  await runTool(process.execPath, [tsc, '-p', path]);
}

/** Makes the files of one package. @param types the folder with the declarations of all packages. */
async function stagePackage(name: string, types: string, stage: string): Promise<void> {
  const source = join(ROOT, 'packages', name);
  const manifest = readManifest(`packages/${name}`);
  const entries = entriesOf(name);
  const declared = entries.map(([, path]) => relative('packages', path).replace(/\.ts$/, '.d.ts'));
  const bundle = await bundleEntries(
    join('packages', name, 'src'),
    entries.map(([, path]) => path),
    join(stage, 'dist'),
  );
  await cp(types, join(stage, 'types'), { recursive: true });
  await keepReachable(join(stage, 'types'), ...declared);
  await writeExamples(join(source, 'examples'), join(stage, 'examples'));
  await cp(join(source, 'README.md'), join(stage, 'README.md'));
  await cp(join(ROOT, 'LICENSE'), join(stage, 'LICENSE'));
  const included = await packagesIn([bundle], []);
  if (included.size > 0) {
    await writeFile(join(stage, 'THIRD-PARTY.txt'), await notices(included));
  }
  const callsSystem = 'packages/io/src/platform/addons.ts' in bundle.inputs;
  const published = {
    ...publicPart(manifest),
    exports: Object.fromEntries(
      entries.map(([entry, path], at) => [
        entry,
        {
          types: `./types/${declared[at]}`,
          default: `./dist/${relative(join('packages', name, 'src'), path).replace(/\.ts$/, '.js')}`,
        },
      ]),
    ),
    engines: { node: '>=24' },
    ...(callsSystem ? { optionalDependencies: { koffi: LIBRARIES['koffi'] } } : {}),
  };
  await writeFile(join(stage, 'package.json'), `${JSON.stringify(published, null, 2)}\n`);
}

/** What a published manifest has of that of the source: neither `private`, nor packages that npm does not have. */
const publicPart = ({ name, version, description, license, type }: PackageJson): object => ({
  name,
  version,
  description,
  license,
  type,
  sideEffects: false,
});

/** Examples are published without their types, to be run where they lie or copied. */
async function writeExamples(from: string, to: string): Promise<void> {
  await mkdir(to, { recursive: true });
  for (const file of await readdir(from)) {
    const text = stripTypeScriptTypes(await readFile(join(from, file), 'utf8'));
    await writeFile(join(to, file.replace(/\.ts$/, '.js')), text);
  }
  await runTool(process.execPath, [join(ROOT, 'node_modules/oxfmt/bin/oxfmt'), to]);
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: { out: { type: 'string', default: join(ROOT, 'out/standalone') } },
  });
  await packStandalone(values.out);
  for (const name of STANDALONE) console.log(join(values.out, standaloneTarball(name)));
}
