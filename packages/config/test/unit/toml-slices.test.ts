import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { TomlError } from '../../src/toml/tree.ts';
import { parseSyntax, parseToml } from '../../src/toml/parse.ts';
import { longArraysOf, slicesOf } from '../../src/toml/slices.ts';

const textsOf = (text: string, length: number): string[] =>
  [...slicesOf(text, length)].map(({ start, end }) => text.slice(start, end));

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

  test('begin at a header only after as many characters as a slice has', () => {
    const text = '[a]\nx = 1\n[b]\nx = 1\n[c]\n';
    assert.deepEqual(textsOf(text, 10), ['[a]\nx = 1\n', '[b]\nx = 1\n', '[c]\n']);
    assert.deepEqual(textsOf(text, 11), ['[a]\nx = 1\n[b]\nx = 1\n', '[c]\n']);
    assert.deepEqual(textsOf(text, 21), [text]);
  });

  test('end before an array of tables of which one began with a table inside it', () => {
    for (const slices of [
      ['[b.c]\n', '[[b]]\n'],
      ['[b.c.d]\n', '[[b.c]]\n'],
      ['\t[b.c]\n', '[[b]]\n'],
      ['[b.c.d]\n[x]\n', '[[b]]\n[b.c]\n[[b]]\n'],
      ['\t [ b . "c" ]\n', ' [[\tb]]\n'],
      [`['b'.c]\n`, '[["b"]]\n'],
      [`[ "b ]" .c]\n`, `[['b ]']]\n`],
      [`["a\tb".c]\n`, `[['a\tb']]\n`],
      ['[b-1.c_D.E]\n', '[[b-1.c_D]]\n'],
    ]) {
      assert.deepEqual(textsOf(slices.join(''), Infinity), slices);
    }
  });

  test('go on where a header begins no element of an array that is open', () => {
    for (const text of [
      '[b.c]\n[b]\n',
      '[b.c]\n[[b.c]]\n',
      '[b.c]\n[[c]]\n',
      '[b.c.d]\n[[x.c]]\n',
      'x = 1\n[b]\n[b.c]\n',
      '[bc]\n[[b]]\n',
      '[[b]]\n[b.c]\n[[b]]\n[[b.d]]\n',
      '[b.c]\n# [[b]]\nx = """\n[[b]]"""\n',
      // One name with a dot, and two names.
      '["b.c".d]\n[[b.c]]\n',
    ]) {
      assert.deepEqual(textsOf(text, Infinity), [text]);
    }
  });

  test('have an unusual header alone: it is deep, long, escaped or no header', () => {
    const name = 'x'.repeat(256);
    assert.deepEqual(textsOf(`[a.a.a.a.a.a.a.a]\n[${name}]\n["${'x'.repeat(254)}"]\n`, Infinity), [
      `[a.a.a.a.a.a.a.a]\n[${name}]\n["${'x'.repeat(254)}"]\n`,
    ]);
    for (const unusual of [
      '[a.a.a.a.a.a.a.a.a]\n',
      `[${name}x]\n`,
      `["${'x'.repeat(255)}"]\n`,
      '["a\\u0062"]\n',
      '[]\n',
      '[a b]\n',
      '[a bc]\n',
      '[a.]\n',
    ]) {
      assert.deepEqual(textsOf(`[x]\n${unusual}[y]\nk = 1\n[z]\n`, Infinity), [
        '[x]\n',
        unusual,
        '[y]\nk = 1\n[z]\n',
      ]);
      assert.deepEqual(textsOf(`${unusual}[y]\n`, Infinity), [unusual, '[y]\n']);
    }
  });

  test('begin at no line within a string, wherever that ends', () => {
    for (const slices of [
      // Two quotes more than the three that close it, and an escaped one.
      ['x = """a""\\""" \n[x]\n"""""\n', '[y]\n'],
      [`x = '''a''\\'''''\n`, '[y]\n'],
      ['x = """"""\n', '[y]\n'],
      ['x = ""\n', '[y]\n'],
      ['x = ["""a""""]\n', '[y]\n'],
      [`x = '''\\'''\n`, '[y]\n'],
      // A string on one line ends with it at the latest.
      ['x = "a\n', '[y]\n'],
      [`x = '\\'\n`, '[y]\n'],
      ['x = "\\\\"\n', '[y]\n'],
      ['x = "\\""\n', '[y]\n'],
      // A long one that does not end takes the rest.
      ['x = """\n[y]\n""\n'],
      [`x = '''\n[y]\n''\n`],
      // Six quotes are an empty string and the start of another.
      ['x = """"""""\n', '[y]\n'],
    ]) {
      assert.deepEqual(textsOf(slices.join(''), 1), slices);
    }
  });

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

  test('are those with more than one piece, outermost, within the slice', () => {
    const divided = (text: string, length: number, start = 0, end = text.length): unknown =>
      longArraysOf(text, { start, end }, length).map(({ open, close, pieces }) => [
        text.slice(open, close + 1),
        ...pieces.map((from, index) => text.slice(from, pieces[index + 1] ?? close)),
      ]);
    assert.deepEqual(divided('a = [1,22,3]', 2), [['[1,22,3]', '1,', '22,', '3']]);
    assert.deepEqual(divided('a = [1,22,3]', 3), [['[1,22,3]', '1,22,', '3']]);
    assert.deepEqual(divided('a = [1,22,3]', 6), []);
    assert.deepEqual(divided('a = [[1,2],[3]]\nb = [4,5]', 1), [
      ['[[1,2],[3]]', '[1,2],', '[3]'],
      ['[4,5]', '4,', '5'],
    ]);
    assert.deepEqual(divided('a = {b = [1,2], c = 3}', 1), []);
    assert.deepEqual(divided('a = 1, 2, 3', 1), []);
    assert.deepEqual(divided('a = [1,2]\nb = [3,4]', 1, 10), [['[3,4]', '3,', '4']]);
    assert.deepEqual(divided('a = [1,2]\nb = [3,4]', 1, 0, 10), [['[1,2]', '1,', '2']]);
    assert.deepEqual(divided('a = [1,2', 1), []);
  });
});

describe('a document that is parsed in slices', () => {
  test('has every value, and every place, that it has as a whole', () => {
    const text = [
      'first = [1, [2, 3], "[4", { b = [5, 6], c = 7 }] # ]',
      '[a]',
      "long = '''",
      '[b]',
      "'''",
      'list = [',
      '  "x", # one, two',
      '  [ "y", "z" ],',
      '] # end',
      '[[ c ]]',
      'd = { e = [1, 2, [3, 4]] }',
      'f.g = [ [], [ ], {} ]',
      '[c.h]',
      'i = 1',
      '[[c]]',
      'd = [ 1,2 ,3 ]',
      '',
    ].join('\n');
    const whole = parseToml(text, Infinity);
    for (let length = 1; length < text.length; length += 3) {
      assert.deepEqual(parseToml(text, length), whole, String(length));
    }
  });

  test('has its errors in elements of arrays even where they are not read', () => {
    const places = (text: string): unknown[] =>
      [...parseSyntax(text, 1)].map((slice) => {
        try {
          return slice.checkElements();
        } catch (error) {
          assert.ok(error instanceof TomlError);
          return [error.message, error.span];
        }
      });
    assert.deepEqual(places('[a]\nb = [1, 2, x, 4]\n[c]\nd = [1, 2]\n'), [
      ['unexpected character', { start: 15, end: 16 }],
      undefined,
    ]);
    assert.deepEqual(places('a = [1, 2]\n[b]\nc = [3, 4, "\\ud800"]\n'), [
      undefined,
      ['invalid code point', { start: 32, end: 33 }],
    ]);
  });

  test('holds no elements of its long arrays in the tree', () => {
    const text = '[a]\nb = [1, [2, 3]]\nc = 4\n[d]\ne = [5, 6]\n';
    for (const [length, counts] of [
      [1, [0, 0]],
      [Infinity, [2]],
    ] as const) {
      const found = [...parseSyntax(text, length)].map(({ program }) => {
        const [table] = program.body[0].body;
        const [pair] = table?.type === 'TOMLTable' ? table.body : [];
        return pair?.value.type === 'TOMLArray' ? pair.value.elements.length : undefined;
      });
      assert.deepEqual(found, counts);
    }
  });

  const INVALID: readonly (readonly [string, string])[] = [
    ['a key twice in a later table', '[x]\n[a]\nlonger = 1\nlonger = 2\n[b]\n'],
    ['a key twice in the last table', '[x]\ny = 1\n[a]\nlonger = 1\nlonger = 2\n'],
    ['text missing at the end', '[x]\n[a]\nb = [1\n\n'],
    ['text missing behind an array', '[a]\nb = [1, 2]\nc =\n[d]\n'],
    ['an element of an array, and text missing behind it', '[a]\nb = [1, x, 2]\nc =\n[d]\n'],
    ['a value where a table is', '[a.b]\n[a]\nb = 1\n'],
    ['an empty array as a parent', '[a]\nb = []\n[a.b.d]\n'],
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
});
