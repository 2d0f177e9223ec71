import assert from 'node:assert/strict';
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { describe, test } from 'node:test';
import {
  bitString,
  der,
  integer,
  objectIdentifier,
  pem,
  selfSigned,
  TAG,
  time,
} from '../../src/self-signed.ts';
import { SystemRandomSource } from '../../../base/src/random.ts';

describe('DER', () => {
  for (const [what, bytes, hex] of [
    ['a length of one byte', der(TAG.octetString, Buffer.alloc(127)).subarray(0, 3), '047f00'],
    ['a length of two', der(TAG.octetString, Buffer.alloc(128)).subarray(0, 4), '04818000'],
    ['a length of three', der(TAG.octetString, Buffer.alloc(300)).subarray(0, 5), '0482012c00'],
    ['zero', integer(Buffer.of(0, 0)), '020100'],
    ['a number that would be negative', integer(Buffer.of(0x80)), '02020080'],
    ['a number with leading zeros', integer(Buffer.of(0, 0, 0x7f, 1)), '02027f01'],
    ['an object identifier', objectIdentifier('2.5.3'), '06025503'],
    ['one with long numbers', objectIdentifier('1.2.840.10045.4.3.2'), '06082a8648ce3d040302'],
    ['a bit string', bitString(Buffer.of(1)), '03020001'],
    [
      'the last second of UTCTime',
      time(Date.UTC(2049, 11, 31, 23, 59, 59)),
      `170d${Buffer.from('491231235959Z').toString('hex')}`,
    ],
    [
      'GeneralizedTime',
      time(Date.UTC(2050, 0, 1)),
      `180f${Buffer.from('20500101000000Z').toString('hex')}`,
    ],
  ] as const) {
    test(`of ${what}`, () => assert.equal(bytes.toString('hex'), hex));
  }

  test('in PEM has lines of 64 characters', () => {
    assert.equal(
      pem('X', Buffer.alloc(49)),
      `-----BEGIN X-----\n${'A'.repeat(64)}\nAA==\n-----END X-----\n`,
    );
  });
});

describe('a self-signed certificate', () => {
  const now = Date.UTC(2026, 10, 24);
  const names = ['proxy.example.com', '*.example.com', '192.0.2.1', '2001:db8::1'];
  const { certificate, key } = selfSigned(names, 30, { random: new SystemRandomSource(), now });
  const parsed = new X509Certificate(certificate);

  test('has the names that clients compare', () => {
    assert.equal(
      parsed.subjectAltName,
      'DNS:proxy.example.com, DNS:*.example.com, IP Address:192.0.2.1, IP Address:2001:DB8:0:0:0:0:0:1',
    );
    assert.equal(parsed.checkHost('a.example.com'), '*.example.com');
    assert.equal(parsed.checkHost('a.example.org'), undefined);
    assert.equal(parsed.checkIP('2001:db8::1'), '2001:db8::1');
    assert.equal(parsed.subject, 'CN=proxy.example.com');
  });

  test('is for servers, of no authority, and signed by its own key', () => {
    assert.equal(parsed.ca, false);
    assert.deepEqual(parsed.keyUsage, ['1.3.6.1.5.5.7.3.1']);
    assert.ok(parsed.verify(parsed.publicKey));
    assert.ok(parsed.checkPrivateKey(createPrivateKey(key)));
    assert.equal(parsed.publicKey.asymmetricKeyDetails?.namedCurve, 'prime256v1');
  });

  test('is valid for so many days, and for clocks that are an hour late', () => {
    assert.equal(Date.parse(parsed.validFrom), now - 3_600_000);
    assert.equal(Date.parse(parsed.validTo), now + 30 * 86_400_000);
  });

  test('has a number and a key of its own', () => {
    const other = selfSigned(names, 30, { random: new SystemRandomSource(), now });
    assert.notEqual(new X509Certificate(other.certificate).serialNumber, parsed.serialNumber);
    assert.notEqual(other.key, key);
  });

  test('of a name that is too long for a common name has it among its names', () => {
    const name = `${'a'.repeat(60)}.${'b'.repeat(60)}.example`;
    const long = new X509Certificate(
      selfSigned([name], 1, { random: new SystemRandomSource(), now }).certificate,
    );
    assert.equal(long.checkHost(name), name);
  });
});
