import { existsSync, globSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The root of the tree. */
export const ROOT = fileURLToPath(new URL('../../..', import.meta.url));

/** A page for users, by its path from the root of the tree or of what is packed. */
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

/** The pages at these paths, which may be patterns. */
export const pagesAt = (patterns: readonly string[], root = ROOT): readonly Page[] =>
  patterns
    .flatMap((pattern) =>
      globSync(pattern, { cwd: root, exclude: ['**/node_modules/**'] }).toSorted(),
    )
    .map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') }));

export const PAGES = pagesAt(['README.md', 'CONTRIBUTING.md', 'docs/**/*.md']);

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

const LINK = /\]\(([^)\s]+)\)|(?:src|srcset)="([^"]+)"/g;

/** Returns the links of a page that lead to no file, or no heading, below the root. */
export function deadLinks(page: Page, root = ROOT): readonly string[] {
  const links = Array.from(proseOf(page).matchAll(LINK), ([, text, image]) => text ?? image ?? '');
  return links.filter((link) => {
    if (/^https?:/.test(link)) return false;
    const [file = '', anchor] = link.split('#');
    const path = file === '' ? page.path : posix.join(posix.dirname(page.path), file);
    if (path.startsWith('..') || !existsSync(join(root, path))) return true;
    if (anchor === undefined) return false;
    const [target] = path.endsWith('.md') ? pagesAt([path], root) : [];
    return !(target && anchorsOf(target).has(anchor));
  });
}

/** Returns the dead links of all pages of what is packed, as `PAGE: LINK`. */
export function deadLinksBelow(root: string): readonly string[] {
  const pages = pagesAt(['**/*.md'], root);
  if (pages.length === 0) throw new Error(`there is no page below ${root}`);
  return pages.flatMap((page) => deadLinks(page, root).map((link) => `${page.path}: ${link}`));
}
