import { basename, dirname, join } from 'node:path/posix';
import { Entries, listIn } from '../architecture/entries.ts';
import { importsIn } from '../architecture/imports.ts';

/** A file of the project and its text, by its path from the root. */
export interface SourceFile {
  readonly path: string;
  readonly text: string;
}

/** A file that depends on another one, or on all of a folder. */
interface Edge {
  readonly from: string;
  readonly to: string;
  /** Whether `from` is outside of the source and names a file in it: it starts the program. */
  readonly isStart: boolean;
}

/** Whether a file is of the program, not of what tests or builds it. */
export const isSource = (path: string): boolean => /^packages\/[^/]+\/src\//.test(path);

/** A path beside the module that names it, as `new URL('…', import.meta.url)`. */
const PATH = /new URL\('([^']+)', import\.meta\.url\)|\(import\.meta\.dirname, '([^']+)'/g;

const MODULE = /\.[jt]s$/;

/** What a file imports at run time, and the files and folders whose paths it has. */
function edgesOf({ path: from, text }: SourceFile, entries: Entries): readonly Edge[] {
  // Those who import from an entry that lists others' exports import these.
  const isList = isSource(from) && listIn(from, text) !== undefined;
  const imports = isList ? [] : importsIn(from, text, entries).filter(({ isType }) => !isType);
  const paths = Array.from(text.matchAll(PATH), ([, url, name]) =>
    join(dirname(from), url ?? name ?? '').replace(/\/$/, ''),
  );
  const isProgram = (to: string): boolean => isSource(to) && MODULE.test(to) && !isSource(from);
  return [
    ...imports.map(({ to }) => ({ from, to, isStart: false })),
    // The root is where paths begin that other expressions end.
    ...paths
      .filter((to) => to !== '.' && !to.startsWith('..'))
      .map((to) => ({ from, to, isStart: isProgram(to) })),
  ];
}

export interface Reached {
  /** Files that import a changed one at run time, over any others, or have its path; and the changed ones. */
  readonly near: ReadonlySet<string>;
  /** Files that do so only through the program, which they start as a whole. */
  readonly far: ReadonlySet<string>;
  /** Changed files that no other file imports or names. */
  readonly alone: readonly string[];
}

/**
 * What a change may concern.
 *
 * @param files all modules of the project, and the manifests of packages
 */
export function reach(changed: readonly string[], files: readonly SourceFile[]): Reached {
  const texts = new Map(files.map(({ path, text }) => [path, text]));
  const entries = new Entries((path) => texts.get(path));
  const edges = files.flatMap((file) => edgesOf(file, entries));
  // Documents, fixtures and lists are named in many ways: by their path or their name alone.
  const outside = files.filter(({ path }) => !isSource(path));
  const named = changed
    .filter((path) => !MODULE.test(path) && dependents(path, edges).length === 0)
    .flatMap((to) =>
      outside
        .filter(({ text }) => text.includes(to) || text.includes(`'${basename(to)}'`))
        .map(({ path: from }) => ({ from, to, isStart: false })),
    );
  const all = [...edges, ...named];
  const near = closure(
    changed,
    all.filter(({ isStart }) => !isStart),
  );
  const far = closure(changed, all).difference(near);
  const alone = changed.filter(
    (path) => !path.endsWith('.test.ts') && dependents(path, all).length === 0,
  );
  return { near, far, alone };
}

const dependents = (path: string, edges: readonly Edge[]): readonly string[] =>
  edges.filter(({ to }) => path === to || path.startsWith(`${to}/`)).map(({ from }) => from);

function closure(changed: readonly string[], edges: readonly Edge[]): Set<string> {
  const byTarget = Map.groupBy(edges, ({ to }) => to);
  const found = new Set(changed);
  // A set is walked in the order of additions, which this makes.
  for (const path of found) {
    for (let to = path; to !== '.'; to = dirname(to))
      for (const { from } of byTarget.get(to) ?? []) found.add(from);
  }
  return found;
}
