import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Node } from '@weir/proxy/schema';
import { outlineOf } from '../../src/edit/outline.ts';
import { TomlError } from '../../src/toml/tree.ts';
import { parseSyntax, parseToml } from '../../src/toml/parse.ts';

/** More characters than fit into one call. */
const SIZE = 200_000;

function entry(text: string, key: string): Node {
  const found = parseToml(text).entries.get(key);
  assert.ok(found, key);
  return found.value;
}

function stringOf(text: string, key: string): string {
  const node = entry(text, key);
  assert.ok(node.kind === 'string');
  assert.equal(node.span.end, text.indexOf(' # end', node.span.start));
  return node.value;
}

/** What must not be divided, in each kind of string, and what it stands for: all line ends are line feeds. */
const KINDS: readonly (readonly [string, string, string])[] = [
  ['"', String.raw`ab\"\\\t\u00e9\U0001F600é😀 '#' `, "ab\"\\\té😀é😀 '#' "],
  ["'", String.raw`ab\"\u00e9 "# é😀 `, String.raw`ab\"\u00e9 "# é😀 `],
  [
    '"""',
    'a"b""c\\"""d\\\\ \n\r\n\\u00e9\\   \r\n\n\t  x😀\'\'\' # \\\n  y',
    'a"b""c"""d\\ \n\néx😀\'\'\' # y',
  ],
  ["'''", 'a\'b\'\'c\\ \n\r\n""" 😀 # y', 'a\'b\'\'c\\ \n\n""" 😀 # y'],
];

describe('a string of any length', () => {
  for (const [delimiter, written, meant] of KINDS) {
    test(`is read between ${delimiter}, wherever it is divided`, () => {
      const count = Math.ceil(SIZE / written.length);
      for (let shift = 0; shift <= written.length; shift++) {
        const before = '-'.repeat(shift);
        const content = before + written.repeat(count);
        const text = `first = 1\nlong = ${delimiter}${content}${delimiter} # end\nlast = "x" # end\n`;
        assert.ok(stringOf(text, 'long') === before + meant.repeat(count), `shifted by ${shift}`);
        assert.equal(stringOf(text, 'last'), 'x');
      }
    });
  }

  test('loses the line feed behind its opening delimiter, and keeps quotes before the closing one', () => {
    const long = 'x'.repeat(SIZE);
    for (const [newline, quote] of [
      ['\n', '"'],
      ['\r\n', "'"],
    ] as const) {
      const delimiter = quote.repeat(3);
      const text = `a = ${delimiter}${newline}${newline}${long}${quote.repeat(2)}${delimiter} # end\n`;
      const value = stringOf(text, 'a');
      assert.equal(value.trimStart(), long + quote.repeat(2));
      assert.match(value, /^\r?\nx/);
    }
  });

  test('may be one of several, in arrays, in tables on one line, and as a key', () => {
    const [one, two] = ['a'.repeat(SIZE), 'b'.repeat(SIZE)];
    const text = `list = ["${one}", { x = '${two}', "${one}" = 1, "${two}" = 2 }]\n["${one}"]\ny = 1\n`;
    const root = parseToml(text);
    const list = root.entries.get('list')?.value;
    assert.ok(list?.kind === 'array');
    const [first, table] = list.items;
    assert.ok(first?.kind === 'string' && table?.kind === 'table');
    assert.equal(first.value, one);
    assert.deepEqual([...table.entries.keys()], ['x', one, two]);
    assert.ok(root.entries.has(one));
    assert.equal(text[list.span.end - 1], ']');
  });

  test('has its place in the outline of a document that is edited', () => {
    const text = `long = "${'x'.repeat(SIZE)}"\n[a]\nb = "${'y'.repeat(SIZE)}" # end\n`;
    const { entries } = outlineOf(text, ['a', 'b']);
    const [found] = entries;
    assert.equal(found?.node.value.end, text.indexOf(' # end'));
  });

  test('is found to be invalid where it is', () => {
    const long = 'x'.repeat(SIZE);
    for (const [text, at, message] of [
      [`a = "${long}\\q${long}"`, 'q', /escape/],
      [`a = "${long}"\nb = ?`, '?', /./],
      [`a = "${long}`, '', /string/],
    ] as const) {
      assert.throws(
        () => parseToml(text),
        (error: unknown) => {
          assert.ok(error instanceof TomlError);
          assert.match(error.message, message);
          assert.ok(!error.message.includes('nested'), error.message);
          const { start } = error.span;
          assert.ok(at === '' || Math.abs(start - text.indexOf(at)) <= 1, `${start}`);
          return true;
        },
      );
    }
  });

  test('is found to be invalid where it is, behind one that is valid', () => {
    const long = 'x'.repeat(SIZE);
    for (const [written, behind, message] of [
      [String.raw`\q`, 1, 'invalid character in escape sequence'],
      // Nothing of the escape is shown, which may be part of a secret.
      [String.raw`\ud800`, 5, 'invalid code point'],
    ] as const) {
      const text = `a = "${long}"\nb = "${long}${written}${long}"\n`;
      const start = text.indexOf(written) + behind;
      assert.throws(() => parseToml(text), {
        name: 'TomlError',
        message,
        span: { start, end: start + 1 },
      });
    }
  });

  test('has its value and its place among the tokens', () => {
    const long = 'x'.repeat(SIZE);
    const [slice] = [...parseSyntax(`a = "${long}"\n`)];
    const tokens = slice?.program.tokens.map(({ range: [start, end], value }) => [
      start,
      end,
      value.length,
    ]);
    assert.deepEqual(tokens, [
      [0, 1, 1],
      [2, 3, 1],
      [4, 4 + SIZE + 2, SIZE],
    ]);
  });

  test('is no excuse for a document that is nested too deeply', () => {
    const deep = `a = "${'x'.repeat(SIZE)}"\nb = ${'['.repeat(100_000)}${']'.repeat(100_000)}`;
    assert.throws(() => parseToml(deep), /nested too deeply/);
  });
});

test('nesting and numbers beyond what the parser can take are refused', () => {
  for (const text of [
    `a = ${'['.repeat(20_000)}${']'.repeat(20_000)}`,
    `a = ${'1'.repeat(200_000)}`,
  ]) {
    assert.throws(() => parseToml(text), {
      name: 'TomlError',
      message: 'the document is nested too deeply, or holds too long a number',
      span: { start: 0, end: 0 },
    });
  }
});
