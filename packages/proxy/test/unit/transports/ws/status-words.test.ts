import assert from 'node:assert/strict';
import { test } from 'node:test';
import { statusInWords } from '../../../../src/transports/ws/upgrade.ts';

test('a status that is no upgrade comes with what it may mean', () => {
  for (const [statusCode, location, words] of [
    [404, undefined, /^the server responded with HTTP status 404 \(path and host have to be/],
    [400, undefined, /status 400 \(.*may not pass upgrades on\)$/],
    [
      301,
      'https://a.example/ws',
      /\(it redirects to "https:\/\/a\.example\/ws"; security = "tls" may be missing\)$/,
    ],
    [302, '/login', /\(it redirects to "\/login"\)$/],
    [418, undefined, /^the server responded with HTTP status 418$/],
  ] as const) {
    assert.match(statusInWords(statusCode, location), words);
  }
});
