import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { withoutComments } from '../../../src/import/parse/json-comments.ts';
import { parseJson } from '../../../src/import/parse/json.ts';
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
    assert.deepEqual(parseYaml('a: 007\nb: true\nc: [1.5, ~, ""]\n'), {
      a: '007',
      b: 'true',
      c: ['1.5', '~', ''],
    });
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
    assert.throws(() => parseYaml('a: &a 1\nb: {<<: *a}\n'), {
      name: 'ImportError',
      message: 'YAML that merges what is no mapping',
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

  test('has as many aliases as a person writes', () => {
    const list = (name: string, of: string): string =>
      `${name}: &${name} [${`${of},`.repeat(9)}]\n`;
    assert.throws(
      () => parseYaml(list('a', 'x') + list('b', '*a') + list('c', '*b') + list('d', '*c')),
      {
        name: 'ImportError',
        message: 'YAML with too many aliases',
      },
    );
    assert.doesNotThrow(() => parseYaml(list('a', 'x') + list('b', '*a')));
  });

  test('is refused with more marks than are read in a few seconds, before it is read', () => {
    assert.throws(() => parseYaml('\n,[]{}:?'.repeat(125_001)), {
      name: 'ImportError',
      message: 'YAML with more than 1000000 values',
    });
  });
});
