import { readFileSync } from 'node:fs';
import { glob } from 'node:fs/promises';
import { dirname, join } from 'node:path/posix';
import { fileURLToPath } from 'node:url';
import { Entries, nameOf, namesIn } from './entries.ts';

export const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/**
 * An import between two files of packages: types, values and `import()` alike. A file is named by its package and its
 * path below `src`: `io/net/links/link.ts` is `packages/io/src/net/links/link.ts`.
 */
export interface Import {
  readonly from: string;
  readonly to: string;
}

/** The short names of all files of packages, sorted, so that what is made of them is the same on every machine. */
export const sourceFiles = async (): Promise<readonly string[]> =>
  (await Array.fromAsync(glob('packages/*/src/**/*.{ts,js}', { cwd: ROOT }))).map(shortName).sort();

/** Returns a path from the root without `packages` and `src`. */
export const shortName = (path: string): string => path.replace(/^packages\/([^/]+)\/src\//, '$1/');

/** Returns the path from the root of a file that `shortName` has shortened. */
export const pathOf = (name: string): string => name.replace(/^([^/]+)\//, 'packages/$1/src/');

/** The text of a file of a package. */
export const sourceText = (name: string): string => readFileSync(join(ROOT, pathOf(name)), 'utf8');

/** What the packages of this checkout show to others. */
export const ENTRIES = new Entries((path) => {
  try {
    return readFileSync(join(ROOT, path), 'utf8');
  } catch {
    return undefined;
  }
});

/** An import that a file has, and whether it is of types alone. */
interface FoundImport {
  readonly to: string;
  readonly isType: boolean;
}

const IMPORT =
  /^(?:import|export) (type )?([^;']*)from '((?:\.|@weir\/)[^']+)'|import\('((?:\.|@weir\/)[^']+)'\)/gm;

/** The files that a text imports, as paths from where its own begins; those behind the entries of packages too. */
export const importsIn = (
  path: string,
  text: string,
  entries: Entries = ENTRIES,
): readonly FoundImport[] =>
  Array.from(text.matchAll(IMPORT), ([, type, names = '', named, loaded = '']) => {
    const isType = type !== undefined;
    const specifier = named ?? loaded;
    if (specifier.startsWith('.')) return [{ to: join(dirname(path), specifier), isType }];
    const files = entries.filesOf(specifier);
    if (files === undefined) return [];
    if (typeof files === 'string') return [{ to: files, isType }];
    const wanted = namesIn(names.replaceAll(/[{}]/g, '')).map((name) => files.get(nameOf(name)));
    return [...new Set(named === undefined ? files.values() : wanted)].flatMap((to) =>
      to === undefined ? [] : [{ to, isType }],
    );
  }).flat();

/** All imports of files of packages by files of packages, in the order of the files. */
export async function readImports(): Promise<readonly Import[]> {
  return (await sourceFiles()).flatMap((from) =>
    importsIn(pathOf(from), sourceText(from)).map(({ to }) => ({ from, to: shortName(to) })),
  );
}

/** The package of a file. */
export const packageOf = (name: string): string => name.split('/')[0] ?? name;

/** The room of a file: a folder below the `src` of its package, or the file itself where it stands there. */
export const roomOf = (name: string): string => name.split('/')[1] ?? name;
