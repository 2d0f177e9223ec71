import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { parsePickBody } from '../../../../src/api/requests.ts';
import { pickOutcome } from '../../../../../../test/support/api/pick-outcome.ts';

const NO_JSON = 'Failed to parse the request body as JSON: ';
const WRONG_SHAPE = 'Failed to deserialize the JSON body into the target type: ';

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
  ['{', `${NO_JSON}EOF while parsing an object at line 1 column 1`],
  ['{"target"', `${NO_JSON}EOF while parsing an object at line 1 column 9`],
  ['{"target":"x",', `${NO_JSON}EOF while parsing an object at line 1 column 14`],
  ['{"target":"x",1}', `${NO_JSON}key must be a string at line 1 column 14`],
  ['{"target":"x', `${NO_JSON}EOF while parsing a string at line 1 column 12`],
  ['{"target":"x\\', `${NO_JSON}EOF while parsing a string at line 1 column 13`],
  [
    '{"target":"x\u0001"}',
    `${NO_JSON}control character (\\u0000-\\u001F) found while parsing a string at line 1 column 12`,
  ],
  [
    '{"target":"x\u001f"}',
    `${NO_JSON}control character (\\u0000-\\u001F) found while parsing a string at line 1 column 12`,
  ],
  ['{"target":"\\x"}', `${NO_JSON}invalid escape at line 1 column 14`],
  ['{"target":"\\ud800"}', `${NO_JSON}lone leading surrogate in hex escape at line 1 column 18`],
  [
    '{"target":["x"]}',
    `${WRONG_SHAPE}target: invalid type: sequence, expected a string at line 1 column 11`,
  ],
  [
    '{"target":{"x":1}}',
    `${WRONG_SHAPE}target: invalid type: map, expected a string at line 1 column 11`,
  ],
];

describe('the body of a pick', () => {
  for (const [text, error] of ERRORS) {
    test(`${text === '' ? 'nothing' : text} is refused with its place`, () => {
      assert.equal(pickOutcome(text), error);
    });
  }

  test('what is wrong first is what is reported', () => {
    assert.match(pickOutcome('{"x":}'), /unknown field `x`/);
    assert.match(pickOutcome('{"target":1,,}'), /invalid type: integer/);
    assert.match(pickOutcome('{,"x":1}'), /key must be a string/);
  });

  test('is one target, with white space and escapes as JSON has them', () => {
    for (const [text, target] of [
      ['{"target":"x"}', 'x'],
      [' {\t"target"\r\n:\n"x" } \n', 'x'],
      ['{"target":""}', ''],
      ['{"\\u0074arget":"a \\"b\\\\\\u00e9\\ud83d\\ude00"}', 'a "b\\é😀'],
      ['{"target":"\u007f }{é"}', '\u007f }{é'],
    ] as const) {
      assert.equal(pickOutcome(text), `target ${target}`);
    }
  });

  test('is UTF-8', () => {
    const bytes = Buffer.from('{"target":"\xe9"}', 'latin1');
    assert.throws(() => parsePickBody(bytes), {
      message: `${NO_JSON}invalid unicode code point`,
    });
  });
});
