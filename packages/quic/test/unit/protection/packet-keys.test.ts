import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { hkdfExpandLabel } from '@weir/crypto/hash';
import {
  initialKeys,
  isRetryAuthentic,
  writeRetryTag,
} from '../../../src/protection/initial-secrets.ts';
import { OneRttKeys } from '../../../src/protection/one-rtt-keys.ts';
import {
  CipherSuite,
  isCipherSuite,
  PacketOpener,
  PacketSealer,
} from '../../../src/protection/packet-keys.ts';
import { numberSizeOf, writeRetry } from '../../../src/wire/packet-header.ts';
import {
  CHACHA20,
  CLIENT_INITIAL,
  ORIGINAL_ID,
  RETRY,
  SERVER_INITIAL,
} from '../../../../../test/support/quic/protection/rfc9001-vectors.ts';

const hex = (text: string): Buffer => Buffer.from(text, 'hex');
const SUITES = Object.values(CipherSuite);
const secretOf = (suite: CipherSuite, fill = 7): Uint8Array =>
  new Uint8Array(suite === CipherSuite.AES_256_GCM_SHA384 ? 48 : 32).fill(fill);

interface PacketVector {
  readonly header: string;
  readonly packetNumber: number;
  readonly payload: string;
  readonly packet: string;
}

/** Seals and opens a vector behind some other bytes. */
function checkVector(sealer: PacketSealer, opener: PacketOpener, vector: PacketVector): void {
  const before = 5;
  const packetSize = vector.packet.length / 2;
  const header = hex(vector.header);
  const bytes = Buffer.alloc(before + packetSize + 3, 0xee);
  bytes.set(header, before);
  bytes.set(hex(vector.payload), before + header.length);
  const numberSize = numberSizeOf(header[0]!);
  const numberAt = before + header.length - numberSize;
  const plainEnd = before + packetSize - 16;
  const end = sealer.seal(bytes, before, numberAt, numberSize, plainEnd, vector.packetNumber);
  sealer.protectHeaders();
  assert.equal(end, before + packetSize);
  assert.equal(bytes.toString('hex', before, end), vector.packet);
  assert.equal(bytes.toString('hex', end), 'eeeeee');

  const number = opener.unprotect(bytes, before, numberAt, end, vector.packetNumber - 1);
  assert.equal(number, vector.packetNumber);
  assert.equal(bytes.toString('hex', before, numberAt + numberSize), vector.header);
  assert.equal(opener.open(bytes, before, numberAt, end, number), true);
  assert.equal(bytes.toString('hex', numberAt + numberSize, plainEnd), vector.payload);
}

test('the Initial packets of RFC 9001 §A.2 and §A.3 are sealed and opened', () => {
  const client = initialKeys(hex(ORIGINAL_ID), 'client');
  const server = initialKeys(hex(ORIGINAL_ID), 'server');
  checkVector(client.sealer, server.opener, CLIENT_INITIAL);
  checkVector(server.sealer, client.opener, SERVER_INITIAL);
  for (const keys of [client, server]) {
    keys.sealer[Symbol.dispose]();
    keys.opener[Symbol.dispose]();
  }
});

test('the Retry packet of RFC 9001 §A.4 is written and verified', () => {
  const bytes = Buffer.alloc(100, 0xee);
  const empty = new Uint8Array(0);
  const tagAt = writeRetry(bytes, 3, empty, hex(RETRY.sourceId), hex(RETRY.token), 0x0f);
  const end = writeRetryTag(bytes, 3, tagAt, hex(ORIGINAL_ID));
  assert.equal(bytes.toString('hex', 3, end), RETRY.packet);
  assert.equal(isRetryAuthentic(bytes, 3, end, hex(ORIGINAL_ID)), true);
  assert.equal(isRetryAuthentic(bytes, 3, end, hex('8394c8f03e515709')), false);
  assert.equal(isRetryAuthentic(bytes, 3, end - 1, hex(ORIGINAL_ID)), false);
  assert.equal(isRetryAuthentic(bytes, 3, 3 + 15, hex(ORIGINAL_ID)), false);
  bytes[8]! ^= 1;
  assert.equal(isRetryAuthentic(bytes, 3, end, hex(ORIGINAL_ID)), false);
});

test('the short packet of RFC 9001 §A.5 is sealed and opened with ChaCha20-Poly1305', () => {
  using sealer = new PacketSealer(CipherSuite.CHACHA20_POLY1305_SHA256, hex(CHACHA20.secret));
  using opener = new PacketOpener(CipherSuite.CHACHA20_POLY1305_SHA256, hex(CHACHA20.secret));
  checkVector(sealer, opener, CHACHA20);
  const updated = hkdfExpandLabel('sha256', hex(CHACHA20.secret), 'quic ku', 32);
  assert.equal(Buffer.from(updated).toString('hex'), CHACHA20.updated);
});

test('only the cipher suites of QUIC version 1 are taken', () => {
  assert.deepEqual([0x1301, 0x1302, 0x1303, 0x1304, 0x1300, 0].filter(isCipherSuite), SUITES);
});

/** Seals short packets of equal size behind each other; returns the size of each. */
function sealRow(sealer: PacketSealer, bytes: Uint8Array, count: number, stride: number): void {
  for (let i = 0; i < count; i++) {
    const start = i * stride;
    bytes[start] = 0x41;
    bytes[start + 9] = i >> 8;
    bytes[start + 10] = i;
    bytes.fill(i, start + 11, start + stride - 16);
    sealer.seal(bytes, start, start + 9, 2, start + stride - 16, i);
  }
  sealer.protectHeaders();
}

for (const suite of SUITES) {
  test(`packets of suite 0x${suite.toString(16)} sealed in a batch open one by one and by masks prepared`, () => {
    using sealer = new PacketSealer(suite, secretOf(suite));
    using opener = new PacketOpener(suite, secretOf(suite));
    const [count, stride] = [150, 80];
    const bytes = new Uint8Array(count * stride);
    sealRow(sealer, bytes, count, stride);
    assert.equal(sealer.sealed, count);
    const singly = Uint8Array.from(bytes);
    let prepared = 0;
    for (let i = 0; i < count; i++) {
      const start = i * stride;
      if (i % 64 === 0) prepared = opener.prepareMasks(bytes, start + 9, stride, bytes.length);
      assert.equal(prepared, Math.min(64, count - (i - (i % 64))));
      const end = start + stride;
      const number = opener.unprotect(bytes, start, start + 9, end, i - 1, i % 64);
      assert.equal(number, i);
      assert.equal(opener.unprotect(singly, start, start + 9, end, i - 1), i);
      for (const packet of [bytes, singly]) {
        assert.equal(opener.open(packet, start, start + 9, end, i), true);
        assert.ok(packet.subarray(start + 11, end - 16).every((byte) => byte === (i & 0xff)));
      }
    }
    assert.equal(opener.rejected, 0);
  });

  test(`packets of suite 0x${suite.toString(16)} survive at any size, offset and number`, () => {
    using sealer = new PacketSealer(suite, secretOf(suite));
    using opener = new PacketOpener(suite, secretOf(suite));
    fc.assert(
      fc.property(
        fc.nat(50),
        fc.integer({ min: 0, max: 20 }),
        fc.integer({ min: 1, max: 4 }),
        fc.uint8Array({ minLength: 3, maxLength: 200, size: 'max' }),
        fc.maxSafeNat(),
        (before, idSize, numberSize, plain, number) => {
          const numberAt = before + 1 + idSize;
          const end = numberAt + numberSize + plain.length;
          const bytes = new Uint8Array(end + 16 + 5);
          bytes[before] = 0x40 | (numberSize - 1);
          for (let i = 0; i < numberSize; i++) {
            bytes[numberAt + i] = Math.floor(number / 2 ** (8 * (numberSize - 1 - i))) % 256;
          }
          bytes.set(plain, numberAt + numberSize);
          assert.equal(sealer.seal(bytes, before, numberAt, numberSize, end, number), end + 16);
          sealer.protectHeaders();
          const largest = number - 1;
          assert.equal(opener.unprotect(bytes, before, numberAt, end + 16, largest), number);
          assert.equal(opener.open(bytes, before, numberAt, end + 16, number), true);
          assert.deepEqual(bytes.slice(numberAt + numberSize, end), plain);
          assert.ok(bytes.subarray(end + 16).every((byte) => byte === 0));
        },
      ),
      { numRuns: 60 },
    );
  });

  test(`any bytes are rejected by suite 0x${suite.toString(16)}, and counted`, () => {
    using opener = new PacketOpener(suite, secretOf(suite));
    let rejected = 0;
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 100, size: 'max' }), (bytes) => {
        const number = opener.unprotect(bytes, 0, 1, bytes.length, -1);
        if (bytes.length < 21) {
          assert.equal(number, -1);
          return;
        }
        assert.equal(opener.open(bytes, 0, 1, bytes.length, number), false);
        rejected++;
      }),
    );
    assert.equal(opener.rejected, rejected);
  });
}

test('a packet that is too short for a sample is not sealed', () => {
  using sealer = new PacketSealer(CipherSuite.AES_128_GCM_SHA256, secretOf(0x1301));
  const bytes = new Uint8Array(64);
  assert.throws(() => sealer.seal(bytes, 0, 9, 2, 12, 0), RangeError);
  assert.equal(sealer.seal(bytes, 0, 9, 2, 13, 0), 29);
  sealer.protectHeaders();
});

test('packets of two buffers may be sealed before their headers are protected', () => {
  using sealer = new PacketSealer(CipherSuite.AES_128_GCM_SHA256, secretOf(0x1301));
  using opener = new PacketOpener(CipherSuite.AES_128_GCM_SHA256, secretOf(0x1301));
  const buffers = [0, 1, 2].map(() => new Uint8Array(64));
  buffers.forEach((bytes, number) => {
    bytes[0] = 0x40;
    bytes[9] = number;
    sealer.seal(bytes, 0, 9, 1, 40, number);
  });
  sealer.protectHeaders();
  sealer.protectHeaders(); // nothing is left to protect
  buffers.forEach((bytes, number) => {
    assert.equal(opener.unprotect(bytes, 0, 9, 56, -1), number);
    assert.equal(opener.open(bytes, 0, 9, 56, number), true);
  });
});

test('keys after an update open what the other side seals with its own, with the same header protection', () => {
  using sealer = new PacketSealer(CipherSuite.AES_256_GCM_SHA384, secretOf(0x1302));
  using opener = new PacketOpener(CipherSuite.AES_256_GCM_SHA384, secretOf(0x1302));
  using nextSealer = sealer.next();
  using nextOpener = opener.next();
  const bytes = new Uint8Array(64);
  bytes[0] = 0x44;
  bytes[9] = 5;
  nextSealer.seal(bytes, 0, 9, 1, 40, 5);
  nextSealer.protectHeaders();
  assert.equal(opener.unprotect(bytes, 0, 9, 56, 4), 5);
  assert.equal(opener.open(Uint8Array.from(bytes), 0, 9, 56, 5), false);
  assert.equal(nextOpener.open(bytes, 0, 9, 56, 5), true);
});

test('header protection outlives the keys before an update', () => {
  const opener = new PacketOpener(CipherSuite.AES_128_GCM_SHA256, secretOf(0x1301));
  using next = opener.next();
  opener[Symbol.dispose]();
  opener[Symbol.dispose]();
  assert.ok(next.unprotect(new Uint8Array(64), 0, 9, 64, -1) >= 0);
});

test('without 1-RTT keys nothing is opened, and sealing is a mistake of the caller', () => {
  using keys = new OneRttKeys();
  const bytes = new Uint8Array(64);
  assert.deepEqual([keys.canRead, keys.canWrite, keys.exhausted], [false, false, undefined]);
  assert.equal(keys.unprotect(bytes, 0, 1, 64, -1), -1);
  assert.equal(keys.prepareMasks(bytes, 1, 64, 64), 0);
  assert.equal(keys.open(bytes, 0, 1, 64, 0, 0, 100), 'dropped');
  assert.throws(() => keys.seal(bytes, 0, 1, 2, 30, 0), TypeError);
});
