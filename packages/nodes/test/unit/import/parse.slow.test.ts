import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { withoutComments, parseJson } from '../../../src/import/parse/json.ts';
import { parseYaml } from '../../../src/import/parse/yaml.ts';

describe('JSON of sing-box and Xray', () => {
  test('may have comments, which are white space', () => {
    for (const [text, plain] of [
      ['[1] // x', '[1]  '],
      ['[1, // ]\n2]', '[1,  2]'],
      ['[1, /* ] */2]', '[1,  2]'],
      ['[/**/1]', '[ 1]'],
      ['[1]/* x', '[1] '],
      ['[1 /*/ 2 */]', '[1  ]'],
      ['["// x", "/* y */"] // "', '["// x", "/* y */"]  '],
      [String.raw`["a\"// x", "b\\"] // c`, String.raw`["a\"// x", "b\\"]  `],
      ['"a', '"a'],
      ['[1] # x', '[1]  '],
      ['[1, # ]\n2]', '[1,  2]'],
      ['# a "b\n[1]', ' [1]'],
      ['[1 #', '[1  '],
      ['["a#b", "c"] #"', '["a#b", "c"]  '],
      ['a / b', 'a / b'],
      ['', ''],
    ] as const) {
      assert.equal(withoutComments(text), plain);
    }
  });

  test('may have a comma before the end of a list or an object', () => {
    for (const [text, plain] of [
      ['[1,]', '[1 ]'],
      ['{"a": 1,}', '{"a": 1 }'],
      ['[1, \n ]', '[1  \n ]'],
      ['[1, // x\n /* y */ ]', '[1      ]'],
      ['[1, # x\n # y\n ]', '[1      ]'],
      ['["a,]", 1, 2]', '["a,]", 1, 2]'],
      ['[1,,]', '[1, ]'],
      ['[1,', '[1,'],
      ['[1, // ]', '[1,  '],
      ['[1, "]"]', '[1, "]"]'],
    ] as const) {
      assert.equal(withoutComments(text), plain);
    }
  });

  test('is refused when it is invalid without them', () => {
    for (const text of ['', '{', '[1,,]', '[1] x', '"a', '{a: 1}']) {
      assert.throws(() => parseJson(text), { name: 'ImportError', message: 'invalid JSON' });
    }
    assert.deepEqual(parseJson('{"a": [1, {"b": null},], }'), { a: [1, { b: null }] });
  });

  test('has 64 levels at most, of those that are no text', () => {
    const nested = (levels: number): string =>
      '[{"a":'.repeat(levels / 2) + '1' + '}]'.repeat(levels / 2);
    assert.doesNotThrow(() => parseJson(nested(64)));
    assert.throws(() => parseJson(`[${nested(64)}]`), {
      message: 'JSON nested more than 64 levels deep',
    });
    assert.deepEqual(parseJson(`["${'['.repeat(100)}"]`), ['['.repeat(100)]);
    assert.equal((parseJson(`[${'[],'.repeat(100)}[]]`) as unknown[]).length, 101);
    assert.equal((parseJson(`[${'{},'.repeat(100)}{}]`) as unknown[]).length, 101);
  });
});

describe('YAML of Clash', () => {
  test('has every scalar as text', () => {
    const plain = [
      '007',
      '0123',
      '1e3',
      '0x1f',
      '0o17',
      'yes',
      'no',
      'true',
      '1.5',
      '.inf',
      'nULL',
    ];
    for (const text of [...plain, '2026-01-02', '12:30:45', '-', '=']) {
      if (text !== '-') assert.deepEqual(parseYaml(`a: ${text}\n`), { a: text });
      assert.deepEqual(parseYaml(`a: "${text}"\n`), { a: text });
    }
  });

  test('has nothing where a plain scalar is null, and text where it is in quotes', () => {
    for (const text of ['', ' ~', ' null', ' Null', ' NULL', ' # comment', ' !!null', ' &a']) {
      assert.deepEqual(parseYaml(`a:${text}\nb: x\n`), { a: null, b: 'x' }, text);
      if (!text.includes('#')) assert.deepEqual(parseYaml(`[{a:${text}}]`), [{ a: null }], text);
    }
    for (const [text, value] of [
      ['"null"', 'null'],
      ["'~'", '~'],
      ['""', ''],
      ['!!str null', 'null'],
      ['!!str', ''],
      ['|-\n  null', 'null'],
    ] as const) {
      assert.deepEqual(parseYaml(`a: ${text}\n`), { a: value });
    }
    assert.deepEqual(parseYaml('- ~\n-\n- null\n- x\n'), [null, null, null, 'x']);
    assert.deepEqual(parseYaml('a: &n\nb: *n\n'), { a: null, b: null });
    assert.deepEqual(parseYaml('null: 1\n~: 2\n'), { null: '1', '~': '2' });
  });

  test('has a key of any name as one of its own', () => {
    const value = parseYaml('__proto__: {a: 1}\nconstructor: 2\n') as object;
    assert.deepEqual(Object.keys(value), ['__proto__', 'constructor']);
    assert.equal(Object.getPrototypeOf(value), Object.prototype);
  });

  test('is nothing in an empty text', () => {
    assert.equal(parseYaml(''), null);
    assert.equal(parseYaml('# a comment\n'), null);
  });

  test('may be long where it has few values', () => {
    const text = 'x'.repeat(1_000_001);
    assert.deepEqual(parseYaml(`a: ${text}`), { a: text });
  });

  test('is the first document, whose last key of a name counts', () => {
    assert.deepEqual(parseYaml('a: 1\na: 2\n---\nb: 3\n'), { a: '2' });
  });

  test('merges mappings, and is refused when it merges anything else', () => {
    assert.deepEqual(parseYaml('a: &a {x: 1}\nb: {<<: *a, y: 2}\n'), {
      a: { x: '1' },
      b: { x: '1', y: '2' },
    });
    assert.deepEqual(parseYaml('a: &a {x: 1}\nc: &c {x: 3, z: 4}\nb: {x: 2, <<: [*a, *c]}\n'), {
      a: { x: '1' },
      c: { x: '3', z: '4' },
      b: { x: '2', z: '4' },
    });
    assert.deepEqual(parseYaml('a: {<<: , y: 1}\nb: {"<<": {z: 1}}\n'), {
      a: { y: '1' },
      b: { '<<': { z: '1' } },
    });
    assert.throws(() => parseYaml('a: &a 1\nb: {<<: *a}\n'), {
      name: 'ImportError',
      message: 'YAML that merges what is not a mapping',
    });
  });

  test('is refused with the place of its first error', () => {
    assert.throws(() => parseYaml('a: 1\nb: [\n'), {
      name: 'ImportError',
      message: /^invalid YAML at line [23], column \d+$/,
    });
    assert.throws(() => parseYaml('a: "x\n'), { message: /^invalid YAML at line 2, column 1$/ });
  });

  test('is refused with a key that is no text', () => {
    for (const [text, what] of [
      ['? [a]\n: 1\n', 'a list or a mapping'],
      ['{{a: 1}: 2}', 'a list or a mapping'],
      ['a: &a x\nb:\n  - *a : 1\n', 'an alias'],
    ] as const) {
      assert.throws(() => parseYaml(text), {
        name: 'ImportError',
        message: `YAML with a key that is ${what}`,
      });
    }
    assert.deepEqual(parseYaml('{: 1, a: 2}'), { '': '1', a: '2' });
  });

  test('has 64 levels at most', () => {
    const nested = (levels: number): string =>
      '[{a: '.repeat(levels / 2) + '1' + '}]'.repeat(levels / 2);
    assert.doesNotThrow(() => parseYaml(nested(64)));
    for (const text of [`[${nested(64)}]`, `{b: ${nested(64)}}`]) {
      assert.throws(() => parseYaml(text), {
        name: 'ImportError',
        message: 'YAML nested more than 64 levels deep',
      });
    }
  });

  test('may have any number of aliases', () => {
    const shared = 'a: &a {x: {y: [1, 2]}}\n';
    const value = parseYaml(`${shared}b:\n${'- *a\n'.repeat(50_000)}`) as { b: unknown[] };
    assert.equal(value.b.length, 50_000);
    assert.deepEqual(value.b.at(-1), { x: { y: ['1', '2'] } });
    assert.deepEqual(parseYaml(`a: &a {x: 1, y: 2}\nb:\n${'- {<<: *a, x: 3}\n'.repeat(1000)}`), {
      a: { x: '1', y: '2' },
      b: Array.from({ length: 1000 }, () => ({ x: '3', y: '2' })),
    });
  });

  test('is refused where aliases stand for more than a million values or 64 levels', () => {
    const level = (index: number): string =>
      `a${index}: &a${index} [${`*a${index - 1},`.repeat(10)}]\n`;
    const levels = (count: number): string =>
      `a0: &a0 x\n${Array.from({ length: count }, (_, index) => level(index + 1)).join('')}`;
    assert.doesNotThrow(() => parseYaml(levels(5)));
    for (const count of [6, 7, 40]) {
      assert.throws(() => parseYaml(levels(count)), {
        name: 'ImportError',
        message: 'YAML with too many aliases',
      });
    }
    const chain = (count: number): string =>
      `- &a0 x\n${Array.from({ length: count }, (_, index) => `- &a${index + 1} [*a${index}]\n`).join('')}`;
    assert.doesNotThrow(() => parseYaml(chain(63)));
    for (const count of [64, 5000]) {
      assert.throws(() => parseYaml(chain(count)), {
        message: 'YAML nested more than 64 levels deep',
      });
    }
  });

  test('is refused with an alias of no anchor, or of one around it', () => {
    for (const text of ['a: *a\n', 'a: &a [*a]\n', 'a: *a\nb: &a 1\n', 'a: &a {<<: *a}\n']) {
      assert.throws(() => parseYaml(text), { message: 'YAML with an alias of no anchor' });
    }
    assert.deepEqual(parseYaml('a: &a 1\nb: *a\nc: &a 2\nd: *a\n'), {
      a: '1',
      b: '1',
      c: '2',
      d: '2',
    });
  });

  test('is refused with more marks than are read in a few seconds, before it is read', () => {
    assert.throws(() => parseYaml('\n,[]{}:?'.repeat(125_001)), {
      name: 'ImportError',
      message: 'YAML with more than 1000000 values',
    });
  });
});
