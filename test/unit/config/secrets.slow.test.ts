import assert from 'node:assert/strict';
import { inspect } from 'node:util';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { toControlError, reloadFailureLine } from '../../../src/app/outcomes.ts';
import { ConfigError, renderConfigError } from '../../../src/config/errors.ts';
import { parseConfig } from '../../support/config/documents.ts';
import { DIRECT, errorOf } from '../../support/config/support.ts';

/** The line as it is shown, without its number. */
const shownOf = (text: string): string | undefined =>
  /^\d+ \| (.*)$/m.exec(errorOf(text).message)?.[1];

describe('the line that a TOML error shows is', () => {
  for (const [what, text, shown] of [
    ['starred out after an open quote', '[api]\nsecret = "sesame', 'secret = *******'],
    ['starred out without quotes', '[api]\nsecret = sesame', 'secret = ******'],
    [
      'starred out behind an escaped quote',
      '[api]\nsecret = "a\\"sesame" x',
      'secret = *************',
    ],
    ['starred out after a key in another case', '[api]\nSecret = "sesame"', 'Secret = "******"'],
    ['starred out after a key of no table', '[api]\npasswd = "sesame"', 'passwd = "******"'],
    ['starred out without an equals sign', '[api]\nsecret sesame', 'secret*******'],
    ['starred out after a colon', '[api]\nsecret: "sesame"', 'secret**********'],
    [
      'starred out within a text of several lines',
      '[api]\nsecret = """\nsesame = \\q"""',
      '**************',
    ],
    ['starred out on the line after its key', '[api]\nsecret =\nc2VzYW1l=', '*********'],
    ['starred out as a number', 'passwd = 12345678', 'passwd = ********'],
    ['starred out as an id', 'x = { id = "sesame", y = 1 }', 'x = { id = "******", *******'],
    [
      'shown with the known keys of its value',
      'x = { user = "ann", pass = \'me\' }',
      'x = { user = "***", pass = \'**\' }',
    ],
    ['starred out in its comment', '[log]\nlevel = 5 # sesame', 'level = 5 #*******'],
    ['shown as a header', '[[colour.x]]', '[[colour.x]]'],
    ['shown with the value of a key that holds no secret', 'level = "x.y"', 'level = "x.y"'],
    [
      'starred out as a link with credentials',
      'server = "me:sesame@host"',
      'server = "**************"',
    ],
    ['as wide as before', 'x = "a\té💡" y', 'x = **\t*****'],
  ] as const) {
    test(what, () => assert.equal(shownOf(text), shown));
  }
});

test('a value in the place of a list or a table is not quoted', () => {
  const inbound = `${DIRECT}[[inbound]]\ntag = "in"\nport = 1\nprotocol = "http"\n`;
  for (const settings of ['"sesame"', '{ accounts = "sesame" }', '{ accounts = ["sesame"] }']) {
    assert.doesNotMatch(errorOf(`${inbound}settings = ${settings}`).message, /sesame/);
  }
});

test('the digits of an escape are not quoted', () => {
  const error = errorOf('[api]\nsecret = "\\U7777ABCD"');
  assert.doesNotMatch(inspect(error, { depth: 10 }), /7777|ABCD/i);
});

/** Everything that is not a secret is spelt without these letters. */
const secrets = fc
  .array(fc.constantFrom('Q', 'X', 'Z', 'QZ', 'XQ', 'ZX', '"', "'", '\\', '=', ',', '#', '{', ']', ' ', '.', '💡'), {
    minLength: 6,
    maxLength: 24,
  })
  .map((parts) => parts.join(''))
  .filter((secret) => /[QXZ]/.test(secret)); // prettier-ignore

const PIECE = 4;

/** Whether four characters in a row of the secret are in the text; brackets and blanks are no secret. */
function leaks(text: string, secret: string): boolean {
  const characters = Array.from(secret);
  return characters.some((_, at) => {
    const piece = characters.slice(at, at + PIECE);
    return piece.length === PIECE && /[QXZ]/.test(piece.join('')) && text.includes(piece.join(''));
  });
}

const keys = fc.constantFrom(
  'password', 'pass', 'secret', 'id', 'user', 'email', 'Password', 'PASS', 'passwd', 'pw', 'uuid',
  '"password"', "'id'", 'password.x', 'settings', 'accounts', 'users', 'clients',
); // prettier-ignore

/** Ways to write a value, and to fail to. */
const values = fc.constantFrom<(secret: string) => string>(
  (s) => JSON.stringify(s),
  (s) => s,
  (s) => `"${s}`,
  (s) => `"${s}"`,
  (s) => `'${s}'`,
  (s) => `${s}"`,
  (s) => `"\\q${s}"`,
  (s) => `"""\n${s}`,
  (s) => `"""\n${s}\n\\q"""`,
  (s) => `'''${s}`,
  (s) => `${JSON.stringify(s)} ${JSON.stringify(s)}`,
  (s) => `= ${JSON.stringify(s)}`,
  (s) => `\n${JSON.stringify(s)}`,
  (s) => `\n${s}`,
  (s) => `[${JSON.stringify(s)}]`,
  (s) => `[\n${JSON.stringify(s)},\n${s}\n]`,
  (s) => `{ x = ${JSON.stringify(s)} }`,
  (s) => `{ password = ${s}, pass = "${s}" }`,
  (s) => `[{ id = ${JSON.stringify(s)}, flow = "${s}" }]`,
  (s) => `${JSON.stringify(s)} # ${s}`,
);

const equals = fc.constantFrom(' = ', '=', ' ', ': ', ' == ', ' = = ');

/** Places of secrets: each gives a document around one line. */
const places = fc.constantFrom<(line: string) => string>(
  (line) => `[api]\n${line}\n`,
  (line) => `api = { ${line} }\n`,
  // Two texts that do not end are one, and what follows is no value any more.
  (line) => `[api]\n${line}\n${line.includes('\n') ? '' : line}\n`,
  (line) => `${line}\n`,
  ...['socks', 'http', 'trojan', 'vless', 'shadowsocks'].flatMap((protocol) => {
    const inbound = `[[inbound]]\ntag = "in"\nport = 1\nprotocol = "${protocol}"\n`;
    const outbound = `[[outbound]]\ntag = "out"\nserver = "a.test"\nport = 1\nprotocol = "${protocol}"\n`;
    return [inbound, outbound].flatMap((head) => [
      (line: string) => `${head}[${head.includes('inb') ? 'in' : 'out'}bound.settings]\n${line}\n`,
      (line: string) => `${head}settings = { ${line} }\n`,
      (line: string) => `${head}settings.accounts = [{ ${line} }]\n`,
      (line: string) => `${head}settings.users = [\n{ ${line} },\n]\n`,
      (line: string) => `${head}${line}\n`,
    ]);
  }),
);

/** What a subscribe file holds in such places. */
const asNodes = (text: string): string =>
  text
    .replaceAll('[outbound.', '[proxy_server.')
    .replaceAll('[outbound]', '[proxy_server]')
    .replaceAll('tag =', 'name =');

/** What `--test` prints, the API answers and the log says. */
function allTexts(error: ConfigError): string {
  const reported = toControlError(error);
  return [
    renderConfigError(error),
    reported.message,
    reloadFailureLine(reported),
    inspect(reported, { depth: 20 }),
  ].join('\n');
}

test('no error shows a secret or a piece of one, however the file is damaged', () => {
  fc.assert(
    fc.property(
      secrets,
      keys,
      equals,
      values,
      places,
      fc.boolean(),
      (secret, key, sign, value, place, inNodes) => {
        const document = place(`${key}${sign}${value(secret)}`);
        try {
          if (inNodes) {
            const bytes = Buffer.from(asNodes(document));
            const config = Buffer.from(`${DIRECT}[subscribe]\npath = "sub.toml"\n`);
            parseConfig(config, { subscribe: { bytes, file: 'sub.toml' } });
          } else parseConfig(Buffer.from(document));
        } catch (error) {
          assert.ok(error instanceof ConfigError, String(error));
          const text = allTexts(error);
          assert.ok(!leaks(text, secret), `${document}\n---\n${text}`);
        }
      },
    ),
    { numRuns: 5000 },
  );
});
