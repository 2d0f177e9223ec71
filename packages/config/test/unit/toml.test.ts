import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Node, TableNode } from '@weir/proxy/schema';
import { TomlError } from '../../src/toml/tree.ts';
import { parseToml } from '../../src/toml/parse.ts';
import { DIRECT, errorOf, specOf } from '../../../../test/support/config/support.ts';

/** The values of a node without their places. */
function valueOf(node: Node): unknown {
  if (node.kind === 'array') return node.items.map(valueOf);
  if (node.kind !== 'table') return node.value;
  return Object.fromEntries([...node.entries].map(([name, { value }]) => [name, valueOf(value)]));
}

const textOf = (text: string, { span }: Node): string => text.slice(span.start, span.end);

function child(table: TableNode, ...path: string[]): Node {
  let node: Node = table;
  for (const name of path) {
    assert.ok(node.kind === 'table');
    const entry = node.entries.get(name);
    assert.ok(entry, name);
    node = entry.value;
  }
  return node;
}

describe('a document', () => {
  test('gives values of every type', () => {
    const text = String.raw`
s = "a\tb\u00e9"
l = 'C:\dir'
i = -1_000
hex = 0xFF
f = 1.5
inf = -inf
b = true
d = 1979-05-27T07:32:00Z
a = [1, ["x"], {y = 2}]
"quoted key" = 1
dotted.key = 1
m = """
one
two"""
`;
    assert.deepEqual(valueOf(parseToml(text)), {
      s: 'a\tbé',
      l: String.raw`C:\dir`,
      i: -1000n,
      hex: 255n,
      f: 1.5,
      inf: -Infinity,
      b: true,
      d: '1979-05-27T07:32:00Z',
      a: [1n, ['x'], { y: 2n }],
      'quoted key': 1n,
      dotted: { key: 1n },
      m: 'one\ntwo',
    });
  });

  test('gives tables, and arrays of tables with what belongs to each', () => {
    const text = '[a.b]\nx=1\n[a]\ny=2\n[[c]]\n[c.d]\nz=3\n[[c]]\n[[c.e]]\nw=4\n';
    assert.deepEqual(valueOf(parseToml(text)), {
      a: { b: { x: 1n }, y: 2n },
      c: [{ d: { z: 3n } }, { e: [{ w: 4n }] }],
    });
  });

  test('knows where everything stands', () => {
    const text =
      '[log]\nlevel = "info"\n[[ inbound ]]\nsettings.udp = true\nstream = { network = "ws" }\n';
    const root = parseToml(text);
    assert.equal(textOf(text, child(root, 'log')), '[log]');
    assert.equal(textOf(text, child(root, 'log', 'level')), '"info"');
    const list = child(root, 'inbound');
    assert.ok(list.kind === 'array');
    const [first] = list.items;
    assert.ok(first?.kind === 'table');
    assert.equal(textOf(text, first), '[[ inbound ]]');
    assert.equal(textOf(text, child(first, 'settings')), 'settings');
    assert.equal(textOf(text, child(first, 'stream')), '{ network = "ws" }');
    const key = first.entries.get('stream')?.key;
    assert.equal(text.slice(key?.start, key?.end), 'stream');
  });

  test('may hold integers of 64 bits, signed and unsigned', () => {
    const least = -(2n ** 63n);
    const greatest = 2n ** 64n - 1n;
    const root = parseToml(`a = ${least}\nb = ${greatest}`);
    assert.deepEqual(valueOf(root), { a: least, b: greatest });
  });

  test('has the kind and the place of each value', () => {
    const text = 'a = "x"\nb = 1\nc = 1.0\nd = true\ne = []\nf = {}\n';
    const values = [...parseToml(text).entries.values()].map(({ value }) => value);
    assert.deepEqual(
      values.map((value) => textOf(text, value)),
      ['"x"', '1', '1.0', 'true', '[]', '{}'],
    );
    assert.deepEqual(
      values.map(({ kind }) => kind),
      ['string', 'integer', 'float', 'boolean', 'array', 'table'],
    );
  });

  test('may name one table by several dotted keys', () => {
    assert.deepEqual(valueOf(parseToml('a.b.c = 1\na.b.d = 2\na.e = 3\n')), {
      a: { b: { c: 1n, d: 2n }, e: 3n },
    });
  });

  test('has a table where it is first named, and where its header is', () => {
    const text = '[a.b]\n[ a ]\n';
    const root = parseToml(text);
    assert.deepEqual(root.entries.get('a')?.key, { start: 1, end: 2 });
    assert.equal(textOf(text, child(root, 'a')), '[ a ]');
  });

  test('may hold infinity, and what is no number', () => {
    assert.deepEqual(valueOf(parseToml('a = inf\nb = -inf\nc = nan\nd = -0.0')), {
      a: Infinity,
      b: -Infinity,
      c: NaN,
      d: -0,
    });
  });

  test('may hold dates and times of every kind, as their text', () => {
    const texts = ['1979-05-27T07:32:00Z', '1979-05-27T07:32:00', '1979-05-27', '07:32:00'];
    for (const text of texts) {
      const node = child(parseToml(`a = ${text}`), 'a');
      assert.deepEqual([node.kind, valueOf(node)], ['datetime', text]);
    }
  });

  test('keeps a key named __proto__ to itself', () => {
    const root = parseToml('__proto__.polluted = true\n');
    assert.equal(valueOf(child(root, '__proto__', 'polluted')), true);
    assert.equal(Object.hasOwn(Object.prototype, 'polluted'), false);
  });
});

const REFUSED: readonly [string, string, number, number, string][] = [
  ['a repeated key', 'a = 1\na = 2\n', 6, 7, 'duplicate key'],
  ['a repeated quoted key', 'a = 1\n"a" = 2\n', 6, 9, 'duplicate key'],
  ['a repeated table', '[a]\n[a]\n', 5, 6, 'duplicate key'],
  ['a table where an array of tables is', '[[a]]\n[a]\n', 7, 8, 'duplicate key'],
  [
    'a key added to a table that a header implied',
    '[a.b.c]\n[a]\nb.d = 1\n',
    12,
    13,
    'duplicate key',
  ],
  ['a repeated key of an inline table', 'a = {b = 1, b = 2}', 12, 13, 'duplicate key'],
  [
    'an integer of 65 bits',
    'a = 18446744073709551616',
    4,
    24,
    'integer number does not fit in 64 bits',
  ],
  [
    'a negative integer of 65 bits',
    'a = -9223372036854775809',
    4,
    24,
    'integer number does not fit in 64 bits',
  ],
  ['a float beyond all floats', 'a = 1e999', 4, 9, 'floating-point number overflowed'],
  ['a carriage return at the start', '\ra = 1', 0, 1, 'carriage return without a line feed'],
  ['a carriage return of its own', 'a = 1\rb = 2', 5, 6, 'carriage return without a line feed'],
  ['a key alone', 'a\n', 1, 2, 'expected equal (=) token'],
  ['an array that never ends', 'a = [1\n\n', 6, 7, 'unterminated array'],
  ['an array before white space alone', 'a = [1 \t\r\n \n', 6, 7, 'unterminated array'],
  ['a repeated key in other quotes', '[a]\n"b c" = 1\n\'b c\' = 2\n', 14, 19, 'duplicate key'],
  ['a repeated key with an escape', '"a\\"b" = 1\n"a\\"b" = 2\n', 11, 17, 'duplicate key'],
  ['a table as a key has its name', '[a]\n[ "a" ]\n', 6, 9, 'duplicate key'],
  ['a table below a value', 'a = 1\n[a.b.c]\n', 7, 8, 'duplicate key'],
  ['a value where dotted keys are', 'a = {b.c = 1, b = 2}', 14, 15, 'duplicate key'],
  // The digits of an escape are part of a value, which may be a secret.
  ['an escape of no character', 'a = "\\ud800"', 10, 11, 'invalid code point'],
  ['a float below all floats', 'a = -1e999', 4, 10, 'floating-point number overflowed'],
];

describe('refused as TOML', () => {
  for (const [name, text, start, end, message] of REFUSED) {
    test(name, () => {
      assert.throws(
        () => parseToml(text),
        (error) => {
          assert.ok(error instanceof TomlError);
          assert.equal(error.message, message);
          assert.deepEqual(error.span, { start, end });
          return true;
        },
      );
    });
  }
});

describe('the text of a TOML error', () => {
  test('shows the line and marks the place', () => {
    assert.equal(
      errorOf('foo = 1\n').message,
      [
        'TOML parse error at line 1, column 1',
        '  |',
        '1 | foo = *',
        '  | ^^^',
        'unknown field `foo`, expected one of `log`, `dns`, `inbound`, `outbound`, `balancer`, ' +
          '`route`, `subscribe`, `api`',
      ].join('\n'),
    );
  });

  test('makes room for the digits of the line number', () => {
    assert.equal(
      errorOf(`${'\n'.repeat(11)}[log]\nlevel = 5\n`).message,
      [
        'TOML parse error at line 13, column 9',
        '   |',
        '13 | level = 5',
        '   |         ^',
        'invalid type: integer `5`, expected a string',
      ].join('\n'),
    );
  });

  test('counts characters, and keeps tabs so that the mark stands below its place', () => {
    assert.equal(
      errorOf('[log]\n\t"💡é" = 5\n').message,
      [
        'TOML parse error at line 2, column 2',
        '  |',
        '2 | \t********',
        '  | \t^^^^',
        'unknown field `💡é`, expected `level`',
      ].join('\n'),
    );
    assert.match(errorOf('log = { "é" = 1, level = 5 } # x').message, /\n {2}\| {9}\^\^\^\n/);
  });

  test('marks only the first line of a value of several', () => {
    assert.match(errorOf('[log]\nlevel = [\n1,\n]\n').message, /\n2 \| level = \[\n {2}\| {9}\^\n/);
  });

  test('is the same in a file with CRLF', () => {
    assert.equal(errorOf('[log]\r\nlevel = 5\r\n').message, errorOf('[log]\nlevel = 5\n').message);
  });

  test('shows no control characters', () => {
    const { message } = errorOf('[log]\nlevel = "\u001b[31m"\n');
    assert.match(message, /\n2 \| level = "\u{FFFD}\[31m"\n/u);
  });
});

describe('the bytes of a file', () => {
  test('may start with a byte order mark, which counts as nothing', () => {
    assert.deepEqual(specOf(`\u{FEFF}${DIRECT}`), specOf(DIRECT));
    assert.equal(errorOf('\u{FEFF}foo = 1').message, errorOf('foo = 1').message);
  });

  test('may start with the lines that npm start prints, whose places count', () => {
    const header =
      '\n> weir-proxy@2.1.1 start\n> exec node packages/weir/src/main.js import links.txt\n\n';
    assert.deepEqual(specOf(header + DIRECT), specOf(DIRECT));
    assert.match(errorOf(`${header}foo = 1`).message, /^TOML parse error at line 5, column 1\n/);
    assert.match(errorOf(DIRECT + header).message, /^TOML parse error at line 5, column 1\n/);
  });

  test('may have CRLF line ends', () => {
    assert.deepEqual(specOf(DIRECT.replaceAll('\n', '\r\n')), specOf(DIRECT));
  });

  const latin1 = (text: string): Uint8Array => Buffer.from(text, 'latin1');

  test('must be UTF-8', () => {
    assert.equal(
      errorOf(latin1('[log]\nlevel = "\xe9t\xe9"\n')).message,
      [
        'TOML parse error at line 2, column 10',
        '  |',
        '2 | level = "\u{FFFD}t\u{FFFD}"',
        '  |          ^',
        'invalid UTF-8',
      ].join('\n'),
    );
  });

  test('are refused where the first byte is that is not UTF-8', () => {
    const places: readonly [string, number, number][] = [
      ['\xff', 1, 1],
      ['a\n\xc3', 2, 1],
      ['a\n\xc3\xa9\xc3', 2, 2],
      ['\xef\xbb\xbfab\xff', 1, 3],
      ['\xef\xbf\xbd\xef\xbf', 1, 2],
      ['# \xed\xa0\x80', 1, 3],
      ['# \xf0\x9f\x92\xa1\xf0\x9f\x92', 1, 4],
      ['\xff\xfe[\0l\0', 1, 1],
    ];
    for (const [text, line, column] of places) {
      const { location } = errorOf(latin1(text));
      assert.deepEqual(location, { file: undefined, line, column }, JSON.stringify(text));
    }
  });
});
