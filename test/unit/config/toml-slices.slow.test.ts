import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { setString } from '../../../src/config/edit/set-string.ts';
import { ConfigError } from '../../../src/config/errors.ts';
import { SourceText } from '../../../src/config/sources/source-text.ts';
import { TomlError } from '../../../src/config/toml/error.ts';
import { parseSyntax, parseToml } from '../../../src/config/toml/parse.ts';
import { longArraysOf, SLICE, slicesOf } from '../../../src/config/toml/slices.ts';
import { brokenDocuments, pickCases } from '../../fuzz/toml-documents.ts';

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

describe('the slices of a document', () => {
  test('begin at headers of tables, outside of strings, arrays and comments', () => {
    const slices = [
      'a = 1\n# [x]\nb = """\n[x]\n""""\nc = [\n[1],\n[2]]\n',
      "[t]\nd = '''\n[x]'''\ne = \"[\"\n",
      "  [[u]]\nf = 'it\\'\ng = { h = [1] } # ] }\n",
      '["[v]"]',
    ];
    assert.deepEqual(textsOf(slices.join(''), 1), slices);
  });

  test('are together the document, each of about the length', () => {
    const table = '[[rule]]\nnames = ["a", "b"]\n';
    const text = table.repeat(10_000);
    const slices = textsOf(text, SLICE);
    assert.equal(slices.join(''), text);
    assert.ok(slices.length > 2);
    for (const slice of slices.slice(0, -1)) {
      assert.ok(slice.length >= SLICE && slice.length < SLICE + table.length);
    }
  });

  test('that begin inside an element of an array end before the next element', () => {
    const node = '[[node]]\nname = "a"\n[node.stream]\nnetwork = "tls"\n[[node.rule]]\nport = 1\n';
    const own = '[own]\n[node.other]\n';
    assert.deepEqual(textsOf(node + node, 20), [
      '[[node]]\nname = "a"\n',
      '[node.stream]\nnetwork = "tls"\n',
      '[[node.rule]]\nport = 1\n',
      '[[node]]\nname = "a"\n',
      '[node.stream]\nnetwork = "tls"\n',
      '[[node.rule]]\nport = 1\n',
    ]);
    assert.deepEqual(textsOf(node + own + node, Infinity), [node + own + node]);
    assert.deepEqual(textsOf(`${node}[[ "node" . 'x' ]]\n${node}`, 80).length, 2);
    for (let length = 1; length < 200; length += 7) {
      assert.deepEqual(
        parseToml(node.repeat(9) + own + node, length),
        parseToml(node.repeat(9) + own + node, Infinity),
      );
    }
  });
  for (const inner of ['[a.r]', '[[a.r]]', '[ "a" . r ]', '[a.r.s]']) {
    test(`may begin with ${inner} and go on with the next [[a]]`, () => {
      const element = `[[a]]\nk = 1\n${inner}\nx = 1\n`;
      const text = element.repeat(4);
      for (const length of [1, 7, 13, 20, 40]) {
        assert.equal(textsOf(text, length).join(''), text);
        assert.deepEqual(
          parseToml(text, length).entries.get('a'),
          parseToml(text).entries.get('a'),
          String(length),
        );
      }
    });
  }

  test('are one without headers, and one of an empty document', () => {
    assert.deepEqual(textsOf('a = 1\nb = 2\n', 1), ['a = 1\nb = 2\n']);
    assert.deepEqual(textsOf('', 1), ['']);
  });
});

describe('the long arrays of a slice', () => {
  test('are divided at their own commas, outside of strings, comments and what they hold', () => {
    const text =
      '[a]\nb = [ "x, y", [1, 2], { c = 3, d = 4 }, # 5, 6\n 7 ]\ne = { f = [1, 2] }\ng = [1]\n';
    const arrays = longArraysOf(text, { start: 0, end: text.length }, 1);
    assert.deepEqual(
      arrays.map(({ pieces, close }) =>
        pieces.map((from, index) => text.slice(from, pieces[index + 1] ?? close)),
      ),
      [[' "x, y",', ' [1, 2],', ' { c = 3, d = 4 },', ' # 5, 6\n 7 ']],
    );
  });
});

describe('a document that is parsed in slices', () => {
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

  const INVALID: readonly (readonly [string, string])[] = [
    ['a table twice', '[a]\nx = 1\n[b]\n[a]\ny = 2\n'],
    ['a table twice below others', '[a.b]\n[a]\n[c]\n[a.b]\n'],
    ['an array of tables as a table', '[[a]]\n[b]\n[a]\n'],
    ['a table as an array of tables', '[a]\n[b]\n[[a]]\n'],
    ['an implied table as an array of tables', '[a.b]\n[[a]]\n'],
    ['a value as a table', '[a]\nb = 1\n[a.b]\n'],
    ['a value as a parent', 'a = 1\n[a.b]\n'],
    ['an inline table as a table', '[a]\nb = { c = 1 }\n[a.b]\n'],
    ['an inline table as a parent', '[a]\nb = { c = 1 }\n[a.b.d]\n'],
    ['an array as an array of tables', '[a]\nb = [{ c = 1 }]\n[[a.b]]\n'],
    ['an empty array as an array of tables', 'a = []\n[[a]]\n'],
    ['an array as a parent', '[a]\nb = [{ c = 1 }]\n[a.b.d]\n'],
    ['a table of dotted keys with a header', '[a]\nb.c = 1\n[a.b]\n'],
    ['dotted keys into a table', '[a.b]\n[a]\nb.c = 1\n'],
    ['dotted keys into an array of tables', '[[a.b]]\n[a]\nb.c = 1\n'],
    ['text missing at the end of a slice', '[a]\nb =\n[c]\n'],
    ['a header that does not end', '[a]\n[b\n[c]\n'],
    ['text behind a header', '[a]\n[b] c\n[c]\n'],
    ['a string that does not end', '[a]\nb = "c\n[c]\n'],
    ['a long string that does not end', '[a]\nb = """c\n[c]\n'],
    ['an array that does not end', '[a]\nb = [1\n[c]\n'],
    ['a bracket too many', '[a]\nb = 1]\n[c]\n'],
    ['two commas in an array', '[a]\nb = [1, 2,, 3]\n[c]\n'],
    ['a comma at the start of an array', '[a]\nb = [, 1, 2]\n[c]\n'],
    ['a missing comma in an array', '[a]\nb = [1, 2 3, 4]\n[c]\n'],
    ['a wrong value in an array', '[a]\nb = [1, 2, x, 4]\n[c]\n'],
    ['a key twice in a table in an array', '[a]\nb = [1, { c = 1, c = 2 }, 3]\n[c]\n'],
    ['an integer that does not fit in an array', '[a]\nb = [1, 99999999999999999999, 3]\n'],
  ];
  for (const [what, text] of INVALID) {
    test(`refuses ${what}, at the same place and with the same text`, () => {
      const errorOf = (length: number): TomlError => {
        try {
          parseToml(text, length);
        } catch (error) {
          assert.ok(error instanceof TomlError, String(error));
          return error;
        }
        return assert.fail('it was accepted');
      };
      const [sliced, whole] = [errorOf(1), errorOf(Infinity)];
      assert.deepEqual([sliced.message, sliced.span], [whole.message, whole.span]);
    });
  }

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
