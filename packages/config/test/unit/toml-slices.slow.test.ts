import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { setString } from '../../src/edit/key-editor.ts';
import { ConfigError } from '../../src/errors.ts';
import { SourceText } from '../../src/sources/source-text.ts';
import { TomlError } from '../../src/toml/tree.ts';
import { parseSyntax, parseToml } from '../../src/toml/parse.ts';
import { SLICE, slicesOf } from '../../src/toml/slices.ts';
import { brokenDocuments, pickCases } from '../../../../test/fuzz/toml-documents.ts';

const textsOf = (text: string, length: number): string[] =>
  [...slicesOf(text, length)].map(({ start, end }) => text.slice(start, end));

/** What comes of it, as a value to compare. */
function outcomeOf(work: () => unknown): unknown {
  try {
    return { value: work() };
  } catch (error) {
    if (error instanceof TomlError || error instanceof ConfigError) return { refused: true };
    throw error;
  }
}

const unmarked = (text: string): string => text.replace(/^\u{feff}/u, '');

describe('a document that is parsed in slices', () => {
  test('is divided into slices of about the length', () => {
    const table = '[[rule]]\nnames = ["a", "b"]\n';
    const text = table.repeat(10_000);
    const slices = textsOf(text, SLICE);
    assert.equal(slices.join(''), text);
    assert.ok(slices.length > 2);
    for (const slice of slices.slice(0, -1)) {
      assert.ok(slice.length >= SLICE && slice.length < SLICE + table.length);
    }
  });

  test('gives the same tree as one that is parsed at once', () => {
    fc.assert(
      fc.property(pickCases, ({ text }) => {
        const document = unmarked(text);
        assert.deepEqual(parseToml(document, 1), parseToml(document, Infinity));
        assert.deepEqual(parseToml(document, 40), parseToml(document, Infinity));
      }),
      { numRuns: 2000 },
    );
  });

  test('is invalid when it is invalid as a whole', () => {
    fc.assert(
      fc.property(brokenDocuments, (bytes) => {
        const document = unmarked(Buffer.from(bytes).toString());
        assert.deepEqual(
          outcomeOf(() => parseToml(document, 1)),
          outcomeOf(() => parseToml(document, Infinity)),
        );
      }),
      { numRuns: 3000 },
    );
  });

  test('is edited in the same way', () => {
    fc.assert(
      fc.property(pickCases, ({ text, subscribe, group, target }) => {
        const source = new SourceText(unmarked(text), undefined);
        const table = subscribe ? ['subscribe', 'routes'] : ['route'];
        const edit = (length: number): unknown =>
          outcomeOf(() => setString(source, table, group, target, length));
        assert.deepEqual(edit(1), edit(Infinity));
      }),
      { numRuns: 2000 },
    );
  });

  test('gives long arrays whole, each element in its place', () => {
    const names = Array.from({ length: 20_000 }, (_, index) => `name-${index}.example`);
    const text = `[[rule]]\nnames = [\n${names.map((name) => `  "${name}", # ,\n`).join('')}]\nx = 1\n`;
    const root = parseToml(text);
    assert.deepEqual(root, parseToml(text, Infinity));
    for (const { program } of parseSyntax(text)) {
      assert.ok(program.tokens.length < 100, `${program.tokens.length} tokens at once`);
    }
  });

  test('keeps no more than the tree of a slice at a time', () => {
    const table = '[[route.rule]]\noutbound = "direct"\ndomain_suffix = ["a.example"]\n\n';
    let largest = 0;
    let slices = 0;
    for (const { program } of parseSyntax(table.repeat(20_000))) {
      largest = Math.max(largest, program.tokens.length);
      slices++;
    }
    assert.ok(slices > 10, `${slices} slices`);
    assert.ok(largest < 40_000, `${largest} tokens at once`);
  });
});
