import assert from 'node:assert/strict';
import { test } from 'node:test';
import { errorOf } from './support.ts';

const LINES = [
  'secret = "open-sesame',
  'api = { secret = "open-sesame", colour = 1 }',
  `x = { user = "ann", pass = 'open-sesame' }`,
  'password = """open-sesame',
  '"secret" = "open-sesame" junk',
];

for (const line of LINES) {
  test(`a TOML error shows this line without its secret: ${line}`, () => {
    const { message } = errorOf(`[api]\n${line}\n`);
    assert.match(message, /^TOML parse error at line 2, column \d+\n/);
    assert.doesNotMatch(message, /sesame/);
    assert.match(message, /\*{11}/);
  });
}
