import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ConfigError } from '../../src/errors.ts';
import { parseByteLimit, parseRateLimit, parseUntil } from '../../src/limits/amounts.ts';
import { readLimits } from '../../src/limits/read-limits.ts';
import { FileReadError } from '../../src/sources/input-files.ts';

const specOf = (text: string) =>
  readLimits('limits.toml', { read: () => Promise.resolve(Buffer.from(text)) });

async function errorOf(text: string): Promise<ConfigError> {
  const error = await specOf(text).then(
    () => assert.fail('the file was accepted'),
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof ConfigError);
  return error;
}

const problemOf = (parsed: unknown): string =>
  typeof parsed === 'object' && parsed !== null && 'problem' in parsed
    ? String(parsed.problem)
    : '';

describe('a limits file', () => {
  test('gives each account its rule, and one to all others', async () => {
    const { accounts, others } = await specOf(`
      [[limit]]
      user = "alice"
      bytes = "100 GB"
      reset = "monthly"
      until = 2027-01-31
      devices = 3
      up = "10 Mbit/s"
      down = "50 Mbit/s"

      [[limit]]
      users = ["bob", "carol"]
      until = "2027-01-31T12:00:00+01:00"

      [[limit]]
      user = "*"
      bytes = "1 GiB"
    `);
    assert.deepEqual(accounts.get('alice'), {
      bytes: 100e9,
      reset: 'monthly',
      until: Date.UTC(2027, 1, 1),
      devices: 3,
      up: 1.25e6,
      down: 6.25e6,
    });
    assert.equal(accounts.get('bob')?.until, Date.UTC(2027, 0, 31, 11));
    assert.equal(accounts.get('carol'), accounts.get('bob'));
    assert.deepEqual([others?.bytes, others?.reset], [2 ** 30, 'never']);
  });

  test('may be empty', async () => {
    assert.deepEqual(await specOf(''), { accounts: new Map(), others: undefined });
  });

  const LIMIT = '[[limit]]\nuser = "a"\n';
  const rows: readonly (readonly [what: string, text: string, message: RegExp, place: string])[] = [
    ['an unknown key', `${LIMIT}byte = "1 GB"`, /unknown field `byte`.*`bytes`/, '3:1'],
    [
      'an entry without an account',
      '[[limit]]\nbytes = "1 GB"',
      /needs the name of an account/,
      '1:1',
    ],
    ['both keys of accounts', `${LIMIT}users = ["b"]`, /`user` or `users`, not both/, '1:1'],
    ['an entry without a limit', LIMIT, /needs `bytes`, `until`, `devices`, `up` or `down`/, '1:1'],
    [
      'a reset without bytes',
      `${LIMIT}devices = 1\nreset = "daily"`,
      /`reset` goes with `bytes`/,
      '1:1',
    ],
    [
      'an account twice',
      `${LIMIT}devices = 1\n${LIMIT}devices = 2`,
      /"a" has an entry before/,
      '5:8',
    ],
    [
      'all other accounts twice',
      '[[limit]]\nusers = ["*", "*"]\ndevices = 1',
      /"\*" has an entry/,
      '2:15',
    ],
    ['an empty name', '[[limit]]\nuser = ""\ndevices = 1', /name of an account is empty/, '2:8'],
    [
      'an unknown period',
      `${LIMIT}bytes = "1 GB"\nreset = "yearly"`,
      /unknown variant `yearly`/,
      '4:9',
    ],
    ['no device', `${LIMIT}devices = 0`, /expected 1 to 1000/, '3:11'],
    ['bytes without a unit', `${LIMIT}bytes = "100"`, /"100" is not an amount of bytes/, '3:9'],
    ['bytes as a number', `${LIMIT}bytes = 100`, /expected a string/, '3:9'],
    ['a day that does not exist', `${LIMIT}until = "2027-02-30"`, /is not a date/, '3:9'],
    ['an ambiguous rate', `${LIMIT}up = "10 MBps"`, /"10 MBps" is not a rate/, '3:6'],
    ['text that is not TOML', '[[limit]', /TOML parse error/, '1:9'],
  ];
  for (const [what, text, message, place] of rows) {
    test(`is invalid with ${what}`, async () => {
      const error = await errorOf(text);
      assert.match(error.message, message);
      assert.equal(`${error.location?.line}:${error.location?.column}`, place);
      assert.equal(error.location?.file, 'limits.toml');
    });
  }

  test('shows the line of an error, whose values are not confidential', async () => {
    const { message } = await errorOf(`${LIMIT}bytes = "100"`);
    assert.match(message, /3 \| bytes = "100"/);
  });

  test('that cannot be read is an error of its own kind', async () => {
    const read = () => Promise.reject(new FileReadError('no such file or directory'));
    await assert.rejects(readLimits('limits.toml', { read }), {
      kind: 'io',
      message: 'cannot read the limits file limits.toml: no such file or directory',
    });
  });
});

describe('an amount of bytes', () => {
  const accepted: readonly (readonly [text: string, bytes: number])[] = [
    ['100 GB', 100e9],
    ['100GB', 100e9],
    ['100gb', 100e9],
    ['1.5 TB', 1.5e12],
    ['500 MiB', 500 * 2 ** 20],
    ['1 gib', 2 ** 30],
    ['7 B', 7],
    ['2 kB', 2000],
    ['2 KB', 2000],
  ];
  for (const [text, bytes] of accepted) {
    test(`may be ${text}`, () => assert.equal(parseByteLimit(text), bytes));
  }
  for (const text of [
    '',
    'GB',
    '100',
    '-1 GB',
    '1e3 GB',
    '1 Gb',
    '1 G',
    '1 GB/s',
    '1  GB',
    '1.2.3 GB',
  ]) {
    test(`may not be ${JSON.stringify(text)}`, () =>
      assert.match(problemOf(parseByteLimit(text)), /is not an amount/));
  }
  test('is at least one byte, and exact', () => {
    assert.match(problemOf(parseByteLimit('0 GB')), /is no amount/);
    assert.match(problemOf(parseByteLimit('0.4 B')), /is no amount/);
    assert.match(problemOf(parseByteLimit('9008 TB')), /is more than/);
  });
});

describe('a rate', () => {
  const accepted: readonly (readonly [text: string, rate: number])[] = [
    ['10 Mbit/s', 1.25e6],
    ['10mbps', 1.25e6],
    ['10 Mbps', 1.25e6],
    ['1 gbps', 125e6],
    ['1.25 MB/s', 1.25e6],
    ['16 kbit/s', 2000],
  ];
  for (const [text, rate] of accepted) {
    test(`may be ${text}`, () => assert.equal(parseRateLimit(text), rate));
  }
  for (const text of ['10', '10 M', '10 MBps', '10 MBPS', '10 MB', 'fast', '1 Mbit']) {
    test(`may not be ${text}`, () =>
      assert.match(problemOf(parseRateLimit(text)), /is not a rate/));
  }
  test('is between 16 kbit/s and 100 Gbit/s', () => {
    assert.match(problemOf(parseRateLimit('15 kbit/s')), /less than/);
    assert.match(problemOf(parseRateLimit('101 Gbit/s')), /more than/);
  });
});

describe('the end of an account', () => {
  test('is that of its last day, in UTC', () => {
    assert.equal(parseUntil('2027-01-31'), Date.UTC(2027, 1, 1));
  });
  test('may be a time, in UTC without an offset', () => {
    assert.equal(parseUntil('2027-01-31T12:00:00'), Date.UTC(2027, 0, 31, 12));
    assert.equal(parseUntil('2027-01-31 12:00'), Date.UTC(2027, 0, 31, 12));
    assert.equal(parseUntil('2027-01-31t12:00:00.5z'), Date.UTC(2027, 0, 31, 12, 0, 0, 500));
    assert.equal(parseUntil('2027-01-31T12:00:00-05:00'), Date.UTC(2027, 0, 31, 17));
  });
  for (const text of [
    '',
    '2027-13-01',
    '2027-02-29',
    '31.1.2027',
    '12:00:00',
    '2027-01-31T25:00',
  ]) {
    test(`may not be ${JSON.stringify(text)}`, () =>
      assert.match(problemOf(parseUntil(text)), /is not a date/));
  }
});
