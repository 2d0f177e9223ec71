import { readFileSync } from 'node:fs';
import { glob } from 'node:fs/promises';
import { dirname, join } from 'node:path';

export const SRC = join(import.meta.dirname, '../../packages');

/** An import between two files of `src`, as paths below it: types, values and `import()` alike. */
export interface Import {
  readonly from: string;
  readonly to: string;
}

/** The paths of all files of `src`, sorted, so that what is made of them is the same on every machine. */
export const sourceFiles = async (): Promise<readonly string[]> =>
  (await Array.fromAsync(glob('**/*.ts', { cwd: SRC }))).sort();

/** The text of a file of `src`. */
export const sourceText = (path: string): string => readFileSync(join(SRC, path), 'utf8');

/** An import that a file has, and whether it is of types alone. */
interface FoundImport {
  readonly to: string;
  readonly isType: boolean;
}

const IMPORT = /^(?:import|export) (type )?[^;']*from '(\.[^']+)'|import\('(\.[^']+)'\)/gm;

/** The files that a text imports, as paths from where its own begins. */
export const importsIn = (path: string, text: string): readonly FoundImport[] =>
  Array.from(text.matchAll(IMPORT), ([, type, named, loaded]) => ({
    to: join(dirname(path), named ?? loaded ?? ''),
    isType: type !== undefined,
  }));

/** All imports of files of `src` by files of `src`, in the order of the files. */
export async function readImports(): Promise<readonly Import[]> {
  return (await sourceFiles()).flatMap((from) =>
    importsIn(from, sourceText(from)).map(({ to }) => ({ from, to })),
  );
}

/** The room of a file: its first folder, or the file itself where it stands in `src`. */
export const roomOf = (path: string): string => path.split('/')[0] ?? path;
