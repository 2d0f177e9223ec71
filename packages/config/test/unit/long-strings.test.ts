import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  longStrings,
  piecesOf,
  placeholderEnd,
  withoutLongStrings,
} from '../../src/toml/long-strings.ts';

/** The longest string that the parser is given whole, with its quotes. */
const LONGEST = 16_384;

const long = 'x'.repeat(LONGEST);

const found = (text: string): unknown =>
  longStrings(text).map(({ start, end, delimiter }) => [
    delimiter,
    text.slice(start, end).replace(long, 'LONG'),
  ]);

/** The content of each piece of the only long string of a document, whose places are checked. */
function pieces(text: string): string[] {
  const [string, ...others] = longStrings(text);
  assert.ok(string && others.length === 0);
  const { delimiter } = string;
  return [...piecesOf(text, string)].map(({ document, offset }) => {
    const opening = delimiter.length === 3 ? `x=${delimiter}\n` : `x=${delimiter}`;
    assert.ok(document.startsWith(opening) && document.endsWith(delimiter));
    const content = document.slice(opening.length, -delimiter.length);
    assert.equal(text.slice(offset + opening.length).startsWith(content), true);
    return content;
  });
}

describe('the long strings of a document', () => {
  test('are found from their opening delimiter to the closing one', () => {
    assert.deepEqual(found(`a = "${long}" # "\nb = '${long}'\n`), [
      ['"', '"LONG"'],
      ["'", "'LONG'"],
    ]);
    assert.deepEqual(found(`a = """${long}"""\nb = '''\n${long}'''`), [
      ['"""', '"""LONG"""'],
      ["'''", "'''\nLONG'''"],
    ]);
  });

  test('are longer with their delimiters than what the parser takes', () => {
    const most = 'x'.repeat(LONGEST - 2);
    assert.deepEqual(longStrings(`a = "${most}"`), []);
    assert.equal(longStrings(`a = "${most}x"`).length, 1);
  });

  test('are no comments, and contain none', () => {
    assert.deepEqual(found(`# '"${long}\na = "#${long}" # "\n`), [['"', '"#LONG"']]);
    assert.deepEqual(found(`a = 1 # "${long}"`), []);
    assert.deepEqual(found(`a = "${long}"\n# ends without a line feed "`), [['"', '"LONG"']]);
  });

  test('end at the first delimiter that is not escaped', () => {
    assert.deepEqual(found(String.raw`a = "\"${long}\\" # "` + '\n'), [
      ['"', String.raw`"\"LONG\\"`],
    ]);
    assert.deepEqual(found(String.raw`a = "\\\"${long}"`), [['"', String.raw`"\\\"LONG"`]]);
    assert.deepEqual(found(String.raw`a = '\${long}\' # '`.replace('${long}', long)), [
      ["'", String.raw`'\LONG\'`],
    ]);
    assert.deepEqual(found(String.raw`a = """\"""${long}\\""" # "`), [
      ['"""', String.raw`"""\"""LONG\\"""`],
    ]);
    assert.deepEqual(found(String.raw`a = '''\${long}\'''`.replace('${long}', long)), [
      ["'''", String.raw`'''\LONG\'''`],
    ]);
  });

  test('may end with two quotes before their delimiter, and contain two anywhere', () => {
    for (const quote of ['"', "'"]) {
      const three = quote.repeat(3);
      const two = quote.repeat(2);
      for (const content of [`${long}${two}`, `${long}${quote}`, `${two}y${long}${two}`, long]) {
        assert.deepEqual(found(`a = ${three}${content}${three}\nb = ${three}${three}`), [
          [three, `${three}${content}${three}`.replace(long, 'LONG')],
        ]);
      }
      // A third one begins another string, which is not long.
      assert.deepEqual(found(`a = ${three}${long}${three}${two}${two}`), [
        [three, `${three}LONG${three}${two}`],
      ]);
    }
  });

  test('are none from a string on that does not end', () => {
    const after = `\nb = "${long}"`;
    for (const broken of ['"', "'", '"x\\"', `"""x`, "'''x"]) {
      assert.deepEqual(longStrings(`a = ${broken}${after.replaceAll('"', '')}`), [], broken);
    }
    assert.deepEqual(longStrings(`a = "x${after}`), []);
    assert.deepEqual(longStrings(`a = 'x${after}`), []);
    assert.deepEqual(longStrings(`a = "${long}\\`), []);
  });
});

test('a document without its long strings has everything else where it was', () => {
  const text = `a = "${long}"\n'${long}' = 1 # end`;
  const strings = longStrings(text);
  const without = withoutLongStrings(text, strings);
  assert.equal(without.length, text.length);
  assert.equal(without.replaceAll(/ {9,}/g, ' '), 'a = "\\u00010" \n"\\u00011" = 1 # end');
  assert.deepEqual(
    strings.map((string, index) => without.slice(string.start, placeholderEnd(string, index))),
    ['"\\u00010"', '"\\u00011"'],
  );
  assert.equal(withoutLongStrings('a = 1', []), 'a = 1');
});

describe('the pieces of a long string', () => {
  /** What must stay whole, where a piece would end within it. */
  const UNITS: readonly (readonly [delimiter: string, unit: string])[] = [
    ['"', '😀'],
    ["'", '😀'],
    ['"', '\\n'],
    ['"', '\\"'],
    ['"', '\\\\'],
    ['"', '\\u00e9'],
    ['"', '\\U0001F600'],
    ['"', '\\x41'],
    ['"""', '\r\n'],
    ['"""', '\\\n'],
    ['"""', '\\  \t\r\n \n '],
    ['"""', '""'],
    ["'''", "''"],
    ["'''", '\r\n'],
  ];
  for (const [delimiter, unit] of UNITS) {
    test(`do not divide ${JSON.stringify(unit)} between ${delimiter}`, () => {
      for (let shift = 0; shift <= unit.length; shift++) {
        const before = 'x'.repeat(LONGEST - shift);
        const text = `a = ${delimiter}${before}${unit}y${delimiter}`;
        const parts = pieces(text);
        assert.equal(parts.join(''), `${before}${unit}y`);
        // The unit is whole in the first piece, which it began in, or in the second.
        assert.equal(parts[0], shift === 0 ? before : `${before}${unit}`);
        assert.equal(parts.length, 2);
      }
    });
  }

  test('end at a character, before an escape that follows', () => {
    const before = 'x'.repeat(LONGEST - 1);
    for (const [delimiter, last] of [
      ['"', '\uffff'],
      ['"', 'é'],
      ['"""', '"'],
    ] as const) {
      assert.deepEqual(pieces(`a = ${delimiter}${before}${last}\\n${delimiter}`), [
        `${before}${last}`,
        '\\n',
      ]);
    }
  });

  test('divide a backslash from what follows where it is no escape', () => {
    const before = 'x'.repeat(LONGEST - 1);
    assert.deepEqual(pieces(`a = '${before}\\n'`), [`${before}\\`, 'n']);
    assert.deepEqual(pieces(`a = '''${before}\\n'''`), [`${before}\\`, 'n']);
    assert.deepEqual(pieces(`a = '${before}""'`), [`${before}"`, '"']);
  });

  test('begin after the line feed behind the opening delimiter, and only after that', () => {
    for (const [newline, content] of [
      ['\n', long],
      ['\r\n', long],
      ['\n\n', `\n${long}`],
      ['\r\n\r\n', `\r\n${long}`],
      ['', long],
    ] as const) {
      assert.equal(pieces(`a = """${newline}${long}"""`).join(''), content);
      assert.equal(pieces(`a = '''${newline}${long}'''`).join(''), content);
    }
  });

  test('are as long as the parser takes, and the last one ends with the string', () => {
    assert.deepEqual(
      pieces(`a = "${'x'.repeat(2 * LONGEST + 1)}" # "`).map(({ length }) => length),
      [LONGEST, LONGEST, 1],
    );
    // A unit that reaches beyond the end of an invalid string ends with it.
    const before = 'x'.repeat(LONGEST - 1);
    assert.deepEqual(pieces(`a = "${before}\\u12" # ""`), [`${before}\\u12`]);
  });
});
