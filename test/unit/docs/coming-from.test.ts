import assert from 'node:assert/strict';
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { configSchema } from '@weir/config/json-schema';
import { page, ROOT } from '../../support/docs/pages.ts';
import { verdictTable } from '../../support/docs/verdict-rows.ts';
import { LINK_KEYS } from '../../../packages/nodes/src/import/links/share-links.ts';

const PATH = 'docs/guides/coming-from.md';
const START = /^<!-- refused and dropped: .* -->$/m;
const END = '<!-- end -->';

/** The cells of the tables of a section, by row; what stands before the first row is left out. */
function cellsOf(text: string): readonly (readonly string[])[] {
  const rows = text.split('\n').filter((line) => line.startsWith('| '));
  return rows.slice(1).map((row) => row.split('|').slice(1, -1));
}

const { text } = page(PATH);
const [, carried = '', others = ''] = text.split(/^## (?:Keys of servers|The other parts)$/m);

/** The keys in a column; those of a path one by one. */
const keysIn = (rows: readonly (readonly string[])[], column: number): ReadonlySet<string> =>
  new Set(
    rows.flatMap((cells) =>
      Array.from((cells[column] ?? '').matchAll(/`([^`]+)`/g), ([, key = '']) =>
        key.split('.'),
      ).flat(),
    ),
  );

/** The source of the files that a pattern names. */
const sourceOf = (pattern: string): string =>
  globSync(join(ROOT, 'packages/*/src', pattern))
    .map((file) => readFileSync(file, 'utf8'))
    .join('\n');

interface Program {
  /** The member of `ProtocolForms`. */
  readonly form: string;
  /** The end of the names of functions that the member calls. */
  readonly reader: string;
  /** The folder of `import`, and the file of `protocols/forms`. */
  readonly folder: string;
}

/** The source that reads servers of a program: its own, and its part of the forms of each protocol. */
function readerOf({ form, reader, folder }: Program): string {
  const own = new RegExp(
    `^  ${form}: \\{$[^]*?^  \\},$|^function read${reader}\\([^]*?^\\}$`,
    'gm',
  );
  return [
    sourceOf(`protocols/forms/${folder}.ts`),
    ...(sourceOf(`import/${folder}/*.ts`).match(
      /^function (?:familyOf|readOutbound)\([^]*?^\}$/gm,
    ) ?? []),
    ...(sourceOf('protocols/*/forms.ts').match(own) ?? []),
  ].join('\n');
}

/** The keys that a reader looks at, as its source has them. */
function keysReadIn(source: string): ReadonlySet<string> {
  const calls = source.matchAll(
    /\.(?:text|needText|flag|list|number|fields|has|only)\(\s*'([^']+)'/g,
  );
  return new Set(Array.from(calls, ([, key = '']) => key));
}

/** Keys that hold others, or servers of their own, and need no row. */
const CONTAINERS = new Set(
  'settings streamSettings users headers endpoints rules proxies default proxy-groups balancers vnext servers routing domain_resolver peers'.split(
    ' ',
  ),
);

describe('the page of keys of other programs', () => {
  test('has the verdicts of weir import on the keys that are not carried over', () => {
    const found = START.exec(text);
    assert.ok(found);
    const from = found.index + found[0].length;
    const wanted = `${text.slice(0, from)}\n\n${verdictTable(LINK_KEYS)}\n\n${END}\n`;
    if (process.env['WEIR_WRITE_DOCS'] === '1') writeFileSync(join(ROOT, PATH), wanted);
    else assert.equal(text, wanted);
  });

  const READERS = [
    ['sing-box', { form: 'singBox', reader: 'SingBox', folder: 'sing-box' }, 1],
    ['Xray', { form: 'xray', reader: 'Xray', folder: 'xray' }, 2],
    ['Clash', { form: 'clash', reader: 'Clash', folder: 'clash' }, 3],
  ] as const;
  for (const [program, reader, column] of READERS) {
    test(`names every key that the reader of ${program} carries over`, () => {
      const named = keysIn(cellsOf(carried), column);
      const missing = [...keysReadIn(readerOf(reader))].filter(
        (key) => !named.has(key) && !CONTAINERS.has(key),
      );
      assert.deepEqual(missing, []);
    });

    test(`names no key of ${program} that its reader does not know`, () => {
      const source = readerOf(reader) + sourceOf(`import/${reader.folder}/*.ts`);
      const unknown = [...keysIn(cellsOf(carried), column)].filter(
        (key) => !source.includes(`'${key}'`) && !key.startsWith('?'),
      );
      assert.deepEqual(unknown, []);
    });
  }

  test('says it in keys and words that a configuration of Weir has', async () => {
    const schema = JSON.stringify(await configSchema());
    const words = new Set(
      [...keysIn(cellsOf(carried), 4), ...keysIn(cellsOf(others), 4)].map((word) =>
        word.replaceAll(/^\[+|\]+$|"/g, ''),
      ),
    );
    // A command, the end of a path, keys of the other programs.
    const other = new Set([
      'weir ctl pick',
      '?ed=',
      'auto_route',
      'silent',
      'warning',
      'off',
      'warn',
    ]);
    const unknown = [...words].filter((word) => !other.has(word) && !schema.includes(`"${word}"`));
    assert.deepEqual(unknown, []);
  });
});
