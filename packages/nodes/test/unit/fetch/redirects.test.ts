import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { FetchError } from '../../../src/fetch/contract.ts';
import { firstHop, nextHop } from '../../../src/fetch/http-fetch.ts';
import { toDialTimes } from '@weir/io';
import { CODE_POINT } from '../../../../../test/support/data/code-point.ts';

const start = firstHop('https://u:p@a.example/x', { 'X-Token': 't' }, { 'user-agent': 'me' });

const text = fc.string({ unit: CODE_POINT });
const hosts = fc.oneof(
  fc.constant('a.example'),
  fc.webAuthority({ withIPv4: true, withIPv6: true, withPort: true, withUserInfo: true }),
);

const locations = fc.oneof(
  text,
  // Not `fc.webUrl`, whose first use in a process takes as long as that of the unit 'binary'.
  fc
    .tuple(fc.constantFrom('http', 'https'), hosts, text)
    .map(([scheme, host, rest]) => `${scheme}://${host}/${rest}`),
  fc.constantFrom(
    '//',
    '\\\\b.example',
    'https:a',
    'https:/b',
    ' https://b/',
    'javascript:1',
    '//u:p@b/',
  ),
);

test('any location is followed without secrets, or refused by name', () => {
  fc.assert(
    fc.property(locations, (location) => {
      try {
        const next = nextHop(start, 302, location);
        assert.ok(next);
        assert.equal(next.url.protocol, 'https:');
        assert.equal(next.url.username + next.url.password, '');
        const isSame = next.url.host === 'a.example';
        assert.equal(next.headers.has('authorization'), isSame);
        assert.equal(next.headers.has('x-token'), isSame);
        assert.equal(next.headers.get('user-agent'), 'me');
      } catch (error) {
        if (!(error instanceof FetchError)) throw error;
        assert.equal(error.code, 'redirect');
      }
    }),
  );
});

test('any URL is taken, or refused by name', () => {
  fc.assert(
    fc.property(locations, fc.dictionary(fc.string(), fc.string()), (url, headers) => {
      try {
        const { url: found } = firstHop(url, headers, {});
        assert.match(found.protocol, /^https?:$/);
      } catch (error) {
        if (!(error instanceof FetchError)) throw error;
        assert.equal(error.code, 'url');
        assert.doesNotMatch(error.message, /\n/);
      }
    }),
  );
});

test('only times are taken from what a socket says', () => {
  const times = { resolved: 1, connected: '2', secured: -3, opened: 4, other: 5 };
  assert.deepEqual(toDialTimes(times), { resolved: 1, opened: 4 });
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      for (const time of Object.values(toDialTimes(value))) assert.ok(time >= 0);
    }),
  );
});
