import { dirname, join } from 'node:path/posix';

/** Returns the text of a file by its path from the root; `undefined` where there is none. */
export type ReadText = (path: string) => string | undefined;

/** A line of an entry that is a list of what other files export. */
const LISTED = /^export (?:type )?\{([^}]*)\} from '(\.[^']+)';/gm;

/** The names in braces of an import or export, such as `a`, `type B` and `c as d`. */
export const namesIn = (list: string): readonly string[] =>
  list
    .split(',')
    .map((word) => word.trim())
    .filter((word) => word !== '');

/** The name that an element of such a list has where it is from. */
export const nameOf = (element: string): string => /^(?:type )?(\S+)/.exec(element)?.[1] ?? element;

/** Returns the files that an entry lists, by the names that they export; `undefined` for a file with code of its own. */
export function listIn(path: string, text: string): ReadonlyMap<string, string> | undefined {
  const code = text.replaceAll(LISTED, '').replaceAll(/\/\*[^]*?\*\//g, '');
  if (code.trim() !== '') return undefined;
  return new Map(
    Array.from(text.matchAll(LISTED), ([, names = '', listed = '']) =>
      namesIn(names).map((name) => [nameOf(name), join(dirname(path), listed)] as const),
    ).flat(),
  );
}

/** What packages show to others: `@weir/io/links` is a file, which may list what other files export. */
export class Entries {
  readonly #read: ReadText;
  readonly #known = new Map<string, ReadonlyMap<string, string> | string | undefined>();

  constructor(read: ReadText) {
    this.#read = read;
  }

  /** Returns the path of an entry by `exports` of its package. */
  pathOf(entry: string): string | undefined {
    const [, name = '', rest = ''] = /^@weir\/([^/]+)(.*)$/.exec(entry) ?? [];
    const manifest = this.#read(`packages/${name}/package.json`);
    if (manifest === undefined) return undefined;
    const { exports } = JSON.parse(manifest) as {
      readonly exports: Readonly<Record<string, string>>;
    };
    const path = exports[`.${rest}`];
    return path === undefined ? undefined : join('packages', name, path);
  }

  /** Returns the files that an entry lists, by name, or the one file that it is. */
  filesOf(entry: string): ReadonlyMap<string, string> | string | undefined {
    if (!this.#known.has(entry)) this.#known.set(entry, this.#find(entry));
    return this.#known.get(entry);
  }

  #find(entry: string): ReadonlyMap<string, string> | string | undefined {
    const path = this.pathOf(entry);
    const text = path === undefined ? undefined : this.#read(path);
    return path === undefined || text === undefined ? undefined : (listIn(path, text) ?? path);
  }
}
