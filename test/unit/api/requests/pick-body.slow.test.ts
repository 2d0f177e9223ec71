import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { parsePickBody } from '../../../../src/api/requests/pick-body.ts';
import { BadRequest } from '../../../../src/api/http/rejections.ts';

const NO_JSON = 'Failed to parse the request body as JSON: ';
const WRONG_SHAPE = 'Failed to deserialize the JSON body into the target type: ';

const read = (text: string): string => {
  try {
    return `target ${parsePickBody(Buffer.from(text))}`;
  } catch (error) {
    assert.ok(error instanceof BadRequest);
    return error.message;
  }
};

const ERRORS: readonly (readonly [text: string, error: string])[] = [
  ['', `${NO_JSON}EOF while parsing a value at line 1 column 0`],
  ['{"target":"x"', `${NO_JSON}EOF while parsing an object at line 1 column 13`],
  ['{"target"\n:"x"\n,}', `${NO_JSON}trailing comma at line 3 column 1`],
  ['{"target":"x"} {}', `${NO_JSON}trailing characters at line 1 column 15`],
  ['{"target":tru}', `${NO_JSON}expected value at line 1 column 10`],
  ['{"target":-}', `${NO_JSON}invalid number at line 1 column 10`],
  ['{target:1}', `${NO_JSON}key must be a string at line 1 column 1`],
  ['{"target" "x"}', `${NO_JSON}expected \`:\` at line 1 column 10`],
  ['{"target":"x" "y"}', `${NO_JSON}expected \`,\` or \`}\` at line 1 column 14`],
  ['{}', `${WRONG_SHAPE}missing field \`target\` at line 1 column 2`],
  ['{"x":1}', `${WRONG_SHAPE}x: unknown field \`x\`, expected \`target\` at line 1 column 4`],
  [
    '{"target":"ü","target":""}',
    `${WRONG_SHAPE}target: duplicate field \`target\` at line 1 column 23`,
  ],
  [
    '{"target":1}',
    `${WRONG_SHAPE}target: invalid type: integer \`1\`, expected a string at line 1 column 11`,
  ],
  [
    '{"target":-1.5e3}',
    `${WRONG_SHAPE}target: invalid type: floating point \`-1.5e3\`, expected a string at line 1 column 16`,
  ],
  [
    '{"target":null}',
    `${WRONG_SHAPE}target: invalid type: null, expected a string at line 1 column 14`,
  ],
  [
    '{"target":true}',
    `${WRONG_SHAPE}target: invalid type: boolean \`true\`, expected a string at line 1 column 14`,
  ],
  ['["x"]', `${WRONG_SHAPE}invalid type: sequence, expected struct Pick at line 1 column 1`],
  ['"x"', `${WRONG_SHAPE}invalid type: string "x", expected struct Pick at line 1 column 3`],
];

describe('the body of a pick', () => {
  for (const [text, error] of ERRORS) {
    test(`${text === '' ? 'nothing' : text} is refused with its place`, () => {
      assert.equal(read(text), error);
    });
  }

  test('what is wrong first is what is reported', () => {
    assert.match(read('{"x":}'), /unknown field `x`/);
    assert.match(read('{"target":1,,}'), /invalid type: integer/);
    assert.match(read('{,"x":1}'), /key must be a string/);
  });

  test('any target survives being written and read', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.boolean(), (target, spaced) => {
        const text = JSON.stringify({ target }, null, spaced ? 2 : undefined);
        assert.equal(parsePickBody(Buffer.from(text)), target);
      }),
    );
  });

  test('is accepted exactly when JSON.parse gives one string under target', () => {
    const piece = fc.constantFrom(
      ...'{}[]",:\\ntrue1-.e \n'.split(''),
      '"target"',
      '"x"',
      '\\u0041',
      '\u0000',
    );
    fc.assert(
      fc.property(
        fc.array(piece, { maxLength: 12 }).map((pieces) => pieces.join('')),
        (text) => {
          let value: unknown;
          try {
            value = JSON.parse(text);
          } catch {
            assert.ok(!read(text).startsWith('target '));
            return;
          }
          const fields =
            typeof value === 'object' && value && !Array.isArray(value)
              ? Object.entries(value)
              : [];
          const [[key, target] = []] = fields;
          const repeated = (text.match(/"target"\s*:/g)?.length ?? 0) > 1;
          const good =
            fields.length === 1 && key === 'target' && typeof target === 'string' && !repeated;
          assert.equal(read(text).startsWith('target '), good, text);
        },
      ),
      { numRuns: 2_000 },
    );
  });

  test('any bytes give a target or a named error', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 60, size: 'max' }), (bytes) => {
        try {
          parsePickBody(Buffer.from(bytes));
        } catch (error) {
          assert.ok(error instanceof BadRequest);
        }
      }),
    );
  });

  test('a string of two million escapes takes no stack', () => {
    const target = '\n'.repeat(1_000_000);
    assert.equal(parsePickBody(Buffer.from(JSON.stringify({ target }))), target);
    assert.match(read('['.repeat(2_000_000)), /invalid type: sequence/);
  });
});
