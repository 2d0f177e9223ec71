import assert from 'node:assert/strict';
import { inspect } from 'node:util';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { reloadFailureLine, toControlError } from '@weir/server/app/outcomes';
import { namesHere } from '@weir/proxy/schema';
import { ConfigError, configHints, renderConfigError } from '../../src/errors.ts';
import { shownKeys } from '../../src/shown-keys.ts';
import { parseConfig } from '../../../../test/support/config/documents.ts';
import { DIRECT, errorOf } from '../../../../test/support/config/support.ts';

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
    ['starred out without an equals sign', '[api]\nsecret sesame', 'secret ******'],
    ['starred out after a colon', '[api]\nsecret: "sesame"', 'secret**********'],
    [
      'starred out within a text of several lines',
      '[api]\nsecret = """\nsesame = \\q"""',
      '**************',
    ],
    ['starred out on the line after its key', '[api]\nsecret =\nc2VzYW1l=', '*********'],
    [
      'starred out as a UUID that begins as a number, without quotes',
      '[[outbound]]\ntag = 0b3a7a2c-1111-4222-8333-444455556666',
      `tag = ${'*'.repeat(36)}`,
    ],
    [
      'starred out as a token that begins as a number, in a list',
      '[[route.rule]]\ndomain_suffix = [8fQz2LkP0xVbN4mRt7Yw]',
      `domain_suffix = [${'*'.repeat(20)}]`,
    ],
    ['shown as a number', '[[inbound]]\nport = 10_80_', 'port = 10_80_'],
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
    [
      'shown with a misspelt key and its list',
      '[[route.rule]]\ndomain_sufix = ["ads.example", "b"]',
      'domain_sufix = ["ads.example", "b"]',
    ],
    ['shown with quotes of prose', '[log]\nlevel = “info”', 'level = “info”'],
    ['starred out in quotes of prose', '[api]\nsecret = “sesame”', 'secret = ********'],
    ['shown with a missing quote', '[api]\nlisten = "127.0.0.1:9090', 'listen = "127.0.0.1:9090'],
    ['shown without quotes', '[log]\nlevel = info # sesame', 'level = info #*******'],
    [
      'shown with the keys of tables in brackets',
      '[[outbound]]\nstream = { network = "ws", path = "/x" }',
      'stream = { network = "ws", path = "**" }',
    ],
    [
      'shown with a misspelt key of a secret in brackets',
      '[log]\nusers = [{ pasword = "sesame", tag = "b" }]',
      'users = [{ pasword = "******", tag = "b" }]',
    ],
    [
      'shown in a list that began on another line',
      '[[route.rule]]\ndomain_full = [\n  a.example,\n]',
      '  a.example,',
    ],
    [
      'starred out in a list of accounts that began on another line',
      '[[x]]\naccounts = [\n  { user = "ann", pass = "sesame" x },\n]',
      '  { user = "***", pass = *************',
    ],
    ['shown as a pick', '[subscribe.routes]\n"Video TV" = “Lagos”', '"Video TV" = “Lagos”'],
    ['shown as YAML', '[[inbound]]\ntag: socks', 'tag: socks'],
    ['shown with a value of another type', '[[outbound]]\ntls = true', 'tls = true'],
    [
      'starred out behind another key',
      '[[x]]\ntag = a, secret = sesame',
      'tag = a, secret ********',
    ],
    ['starred out in a header', '[[x.password]]\ntag = "sesame" y', 'tag = **********'],
    [
      'starred out as a UUID at any key',
      'tag = "b831381d-6324-4d53-ad4f-8cda48b30811"',
      'tag = "************************************"',
    ],
    [
      'starred out as a random token at any key',
      'tag = "Zx81kQp0aV7uTr5mWc3e"',
      'tag = "********************"',
    ],
    [
      'starred out behind the scheme of a URL',
      'server = "https://a.example/sesame"',
      'server = "https://****************"',
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

test('a link in the place of an address is not quoted', () => {
  for (const link of ['socks://me:sesame@127.0.0.1:1080', 'ss://c2VzYW1l', 'vmess://sesame']) {
    for (const text of [
      `[[inbound]]\ntag = "x"\nprotocol = "socks"\nport = 1\nlisten = "${link}"\n${DIRECT}`,
      `[[outbound]]\ntag = "x"\nprotocol = "http"\nport = 1\nserver = "${link}"\n`,
      `[[outbound]]\ntag = "x"\nprotocol = "${link}"\n`,
    ]) {
      const error = errorOf(text);
      const shown = [renderConfigError(error), ...configHints(error)].join('\n');
      assert.doesNotMatch(shown, /sesame|c2VzYW1l/);
    }
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

const plainKeys = fc.constantFrom(
  'password', 'pass', 'secret', 'id', 'user', 'email', 'Password', 'PASS', 'passwd', 'pw', 'uuid',
  '"password"', "'id'", 'password.x', 'settings', 'accounts', 'users', 'clients',
); // prettier-ignore

/** Names of secrets here and in other programs. */
const secretNames = fc.constantFrom(
  'password', 'pass', 'secret', 'id', 'private_key', 'preshared_key', 'peer_public_key', 'obfs_password', 'user', 'uuid',
  'token', 'psk', 'auth_str', 'short_id', 'username', 'api_key', 'auth', 'obfs', 'url',
); // prettier-ignore

const LETTERS = 'abcdefghijklmnopqrstuvwxyz_-';

/** A name with one typing error, or in another form; not the name of another key. */
const misspelt = fc
  .tuple(secretNames, fc.nat(5), fc.nat(20), fc.constantFrom(...LETTERS.split('')))
  .map(([name, error, place, letter]) => {
    const at = place % name.length;
    const [before, char, after] = [name.slice(0, at), name.charAt(at), name.slice(at + 1)];
    switch (error) {
      case 0:
        return before + after;
      case 1:
        return before + char + char + after;
      case 2:
        return before + letter + after;
      case 3:
        return before + letter + char + after;
      case 4:
        return before + after.charAt(0) + char + after.slice(1);
      default:
        return name.replaceAll(/_(\w)/g, (_, next: string) => next.toUpperCase());
    }
  })
  .filter((key) => /^[\w-]+$/.test(key) && !isOtherKey(key));

/** Whether a name is exactly that of a key that holds no secret, here or elsewhere. */
const isOtherKey = (key: string): boolean =>
  shownKeys().disclosed.has(key) || shownKeys().tables.has(key) || namesHere(key).length > 0;

const keys = fc.oneof(plainKeys, misspelt);

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
  (s) => `“${s}”`,
  (s) => `‘${s}’`,
  (s) => `“${s}`,
  (s) => `"""${s}""", tag = "a"`,
  (s) => `"${s}", tag = "a"`,
  (s) => `${s}, port = 1`,
);

const equals = fc.constantFrom(' = ', '=', ' ', ': ', ' == ', ' = = ', ' := ', '\t=\t', ' “=” ');

const behindOpenQuote = (line: string): string => `[[outbound]]\ntag = "a ${line}\n`;

/** Places of secrets: each gives a document around one line. */
const places = fc.constantFrom<(line: string) => string>(
  (line) => `[api]\n${line}\n`,
  (line) => `api = { ${line} }\n`,
  // Two texts that do not end are one, and what follows is no value any more.
  (line) => `[api]\n${line}\n${line.includes('\n') ? '' : line}\n`,
  (line) => `${line}\n`,
  // Beside keys whose values are shown.
  (line) => `[[outbound]]\ntag = "a", ${line}\n`,
  (line) => `[[outbound]]\ntag = “a” ${line}\n`,
  (line) => `[[outbound]]\ntag = a; ${line}\n`,
  behindOpenQuote,
  (line) => `[[outbound]]\ntag: a, ${line}\n`,
  (line) => `[[outbound]]\nport = 1 ${line}, server = "a.test"\n`,
  (line) => `[[outbound]]\nserver = [a.test, ${line}]\n`,
  (line) => `outbound = [{ tag = "a", ${line}, port = 1 }, { tag = b }]\n`,
  (line) => `outbound = [{ tag = "a" ${line} }]\n`,
  (line) => `[[route.rule]]\ndomain_suffix = [\n"a.test",\n{ ${line} },\n]\n`,
  (line) => `[subscribe.routes]\n${line}\n`,
  (line) => `[subscribe.routes]\nVideo = { ${line} }\n`,
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
    ...configHints(error),
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
        // Without a sign it is a part of the tag.
        fc.pre(place !== behindOpenQuote || sign !== ' ');
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
    { numRuns: 10_000 },
  );
});
