import { readFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import type { Plugin } from 'esbuild';
import { nameOf, namesIn } from '../tools/architecture/entries.ts';
import { ENTRIES } from '../tools/architecture/imports.ts';
import { ROOT } from './root.ts';

/** An import or export by name from an entry of a package. */
const STATEMENT = /^(import|export) (type )?\{([^}]*)\} from '(@weir\/[^']+)';/gm;

/** A type of an entry where it is used. */
const INLINE = /import\("(@weir\/[^"]+)"\)\.(\w+)/g;

/**
 * Has files import what entries of packages list from where it is. esbuild divides a program by files: an entry would
 * bring all that it lists into each part that needs some of it, and a command would load most of the program.
 */
export const DIRECT_IMPORTS: Plugin = {
  name: 'direct-imports',
  setup(builder) {
    builder.onLoad({ filter: /[\\/]packages[\\/][\w-]+[\\/]src[\\/].*\.ts$/ }, async ({ path }) => {
      const text = await readFile(path, 'utf8');
      return { contents: directImports(text, (file) => pathTo(path, file)), loader: 'ts' };
    });
  },
};

/**
 * Replaces entries of packages by the files that have what is imported, in as many lines as before for source maps.
 *
 * @param locate returns the specifier for a file of the source
 * @throws {Error} for a name that an entry does not have
 */
export const directImports = (text: string, locate: (file: string) => string): string =>
  text.replaceAll(
    STATEMENT,
    (whole, keyword: string, type: string | undefined, names: string, entry: string): string => {
      const files = ENTRIES.filesOf(entry);
      if (typeof files === 'string') return whole.replace(entry, locate(join(ROOT, files)));
      const byFile = Map.groupBy(namesIn(names), (name) => {
        const file = files?.get(nameOf(name));
        if (file === undefined) throw new Error(`${entry} has no ${name}`);
        return locate(join(ROOT, file));
      });
      const statements = Array.from(
        byFile,
        ([file, some]) => `${keyword} ${type ?? ''}{ ${some.join(', ')} } from '${file}';`,
      );
      return statements.join(' ') + '\n'.repeat(whole.split('\n').length - 1);
    },
  );

/** Does the same for types that the compiler has written as `import("@weir/io/links").ByteLink`. */
export const directTypes = (text: string, locate: (file: string) => string): string =>
  text.replaceAll(INLINE, (_, entry: string, name: string): string => {
    const files = ENTRIES.filesOf(entry);
    const file = typeof files === 'string' ? files : files?.get(name);
    if (file === undefined) throw new Error(`${entry} has no ${name}`);
    return `import("${locate(join(ROOT, file))}").${name}`;
  });

/** Returns the specifier of a file beside another one. */
export const pathTo = (from: string, to: string): string => {
  const path = relative(dirname(from), to);
  return path.startsWith('.') ? path : `./${path}`;
};
