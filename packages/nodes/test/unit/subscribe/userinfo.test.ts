import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { parseUpdateInterval, parseUserinfo } from '../../../src/subscribe/files/state-file.ts';

describe('subscription-userinfo', () => {
  for (const [header, wanted] of [
    [
      'upload=455; download=24576; total=1073741824; expire=1790000000',
      { upload: 455, download: 24_576, total: 1_073_741_824, expire: 1_790_000_000 },
    ],
    ['Upload=1;DOWNLOAD=2,total=3.9', { upload: 1, download: 2, total: 3 }],
    [' upload = 455 ;\tdownload\t=\t2 ', { upload: 455, download: 2 }],
    ['upload=3.25; download=4.123456789', { upload: 3, download: 4 }],
    ['upload=1; upload=2', { upload: 1 }],
    ['total="5"; upload="1.5e3"; download=""', { total: 5, upload: 1500 }],
    ['expire=1790000000000', { expire: 1_790_000_000 }],
    ['upload=1; expire=0; total=0', { upload: 1 }],
    ['upload=-1; download=1e; total=NaN; expire=', undefined],
    ['upload=-1E+5; download=Infinity; total=0x10; expire=1e999', undefined],
    ['total=1.1650911646515E+14; upload=1e12', { total: 116_509_116_465_150, upload: 1e12 }],
    ['upload=1.5e+00; download=25e-1; expire=1.79E9', { upload: 1, download: 2, expire: 1.79e9 }],
    ['total=3.14159265358979312; upload=+7', { total: 3, upload: 7 }],
    ['total=1e17; upload=9e15', { upload: 9e15 }],
    ['upload=99999999999999999999', undefined],
    ['__proto__=1; constructor=2', undefined],
    ['', undefined],
    [undefined, undefined],
  ] as const) {
    test(`reads ${String(header)}`, () => assert.deepEqual(parseUserinfo(header), wanted));
  }

  test('is read in its first 1,024 characters, without a part that ends after them', () => {
    const known = { download: 7, total: 8 };
    const header = `download=7;total=8;${'x'.repeat(1024 - 30)};upload=123`;
    assert.equal(header.length, 1024);
    assert.deepEqual(parseUserinfo(header), { ...known, upload: 123 });
    assert.deepEqual(parseUserinfo(`${header}45`), known);
    assert.deepEqual(parseUserinfo(`${header};expire=9`), known);
    assert.equal(parseUserinfo(`x${header}`)?.upload, undefined);
  });
});

test('profile-update-interval is hours, within an hour and a month', () => {
  assert.equal(parseUpdateInterval('12'), 12 * 3600);
  assert.equal(parseUpdateInterval(' 0.5 '), 3600);
  assert.equal(parseUpdateInterval('100000'), 31 * 24 * 3600);
  for (const invalid of ['', 'a day', '-1', undefined]) {
    assert.equal(parseUpdateInterval(invalid), undefined);
  }
});
