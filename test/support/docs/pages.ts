import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The root of the tree. */
export const ROOT = fileURLToPath(new URL('../../..', import.meta.url));

/** A page for users, by its path from the root. */
export interface Page {
  readonly path: string;
  readonly text: string;
}

/** What stands between two fences. */
export interface Block {
  readonly page: string;
  /** Of its first line in the page. */
  readonly line: number;
  readonly language: string;
  readonly text: string;
}

export const PAGES: readonly Page[] = ['README.md', 'CONTRIBUTING.md', ...docs()].map((path) => ({
  path,
  text: readFileSync(join(ROOT, path), 'utf8'),
}));

function docs(): readonly string[] {
  return globSync('docs/**/*.md', { cwd: ROOT }).toSorted();
}

const FENCE = /^( *)```([a-z]*)\n([\s\S]*?)^\1```$/gm;

export const blocksOf = ({ path, text }: Page): readonly Block[] =>
  Array.from(text.matchAll(FENCE), ({ index, 1: indent = '', 2: language = '', 3: body = '' }) => ({
    page: path,
    line: text.slice(0, index).split('\n').length + 1,
    language,
    text: body.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
  }));

/** The page of this path. */
export function page(path: string): Page {
  const found = PAGES.find((each) => each.path === path);
  if (!found) throw new Error(`there is no page ${path}`);
  return found;
}

/** The text without its blocks, for what is prose: links and headings. */
export const proseOf = ({ text }: Page): string => text.replaceAll(FENCE, '');

/** How GitHub names the place of a heading. */
export const anchorsOf = (each: Page): ReadonlySet<string> =>
  new Set(
    Array.from(proseOf(each).matchAll(/^#+ (.+)$/gm), ([, heading = '']) =>
      heading
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
        .replaceAll(' ', '-'),
    ),
  );
