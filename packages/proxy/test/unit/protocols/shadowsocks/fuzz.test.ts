import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { createOpener, createSealer, AEAD_SHAPES, NonceCounter } from '@weir/crypto/aead';
import { ProtocolError } from '@weir/io';
import { ChunkOpener, ChunkSealer } from '../../../../src/protocols/shadowsocks/chunks.ts';
import { METHODS } from '../../../../src/protocols/shadowsocks/methods.ts';
import {
  decodeRequestFixed,
  decodeRequestVariable,
  encodeRequestVariable,
} from '../../../../src/protocols/shadowsocks/edition-2022/wire.ts';
import {
  FakeSessions,
  FakeSocket,
} from '../../../../../../test/support/protocols/shadowsocks/datagram-harness.ts';
import { setImmediate as settle } from 'node:timers/promises';
import {
  METHOD_NAMES,
  server,
  clientAt,
} from '../../../../../../test/support/protocols/shadowsocks/harness.ts';

const WALL = Date.UTC(2026, 0, 1);
const bytes = (maxLength: number): fc.Arbitrary<Buffer> =>
  fc.uint8Array({ maxLength }).map((array) => Buffer.from(array));

/** Runs a decoder, which may reject its input with an error of the protocol. */
function outcome<T>(decode: () => T): T | 'rejected' {
  try {
    return decode();
  } catch (error) {
    assert.ok(error instanceof ProtocolError, String(error));
    return 'rejected';
  }
}

/** `whole` split at those fractions. */
function split(whole: Buffer, places: readonly number[]): Buffer[] {
  const at = [0, ...places.map((place) => Math.floor(place * whole.length)).sort((a, b) => a - b)];
  return at.map((start, i) => whole.subarray(start, at[i + 1]));
}

const places = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 12 });

for (const name of METHOD_NAMES) {
  const { [name]: method } = METHODS;
  const subkey = Buffer.alloc(method.keyLength, 6);

  describe(`chunks of ${name}`, () => {
    test('have the same payload however the stream is split', () => {
      const payloads = fc.array(fc.uint8Array({ maxLength: 300, size: 'max' }), { maxLength: 6 });
      fc.assert(
        fc.property(payloads, places, (pieces, places) => {
          using sealer = new ChunkSealer(method, subkey);
          const length = pieces.reduce((sum, { length }) => sum + sealer.sealedLength(length), 0);
          const wire = Buffer.alloc(length);
          let offset = 0;
          for (const piece of pieces) offset = sealer.payload(piece, wire, offset);
          assert.equal(offset, length);
          using opener = new ChunkOpener(method, createOpener(method.aead, subkey));
          const out = split(wire, places).map((part) => Buffer.from(opener.push(part)));
          assert.deepEqual(Buffer.concat(out), Buffer.concat(pieces));
          assert.ok(opener.atBoundary);
        }),
        { numRuns: 60 },
      );
    });

    test('of any bytes that are not authentic are rejected', () => {
      fc.assert(
        fc.property(bytes(200), (wire) => {
          using opener = new ChunkOpener(method, createOpener(method.aead, subkey));
          const result = outcome(() => opener.push(wire));
          assert.ok(result === 'rejected' || result.length === 0);
          if (wire.length >= 18) assert.equal(result, 'rejected');
        }),
        { numRuns: 60 },
      );
    });

    test('of any stated length and any authentic payload are accepted or rejected', () => {
      fc.assert(
        fc.property(fc.integer({ min: 0, max: 0xffff }), fc.nat({ max: 100 }), (length, have) => {
          using sealer = createSealer(method.aead, subkey);
          using opener = new ChunkOpener(method, createOpener(method.aead, subkey));
          const nonce = new NonceCounter(AEAD_SHAPES[method.aead].nonceLength);
          const stated = Buffer.alloc(18);
          sealer.seal(nonce.bytes, Buffer.of(length >> 8, length & 0xff), stated);
          nonce.next();
          if (length > method.maxChunk) {
            assert.equal(
              outcome(() => opener.push(stated)),
              'rejected',
            );
            return;
          }
          assert.equal(opener.push(stated).length, 0);
          // Payload of another length than was stated.
          const other = Buffer.alloc(have + 16);
          sealer.seal(nonce.bytes, Buffer.alloc(have), other);
          const result = outcome(() => opener.push(other));
          if (have === length) assert.equal(result.length, have);
          else assert.ok(result === 'rejected' || result.length === 0);
        }),
        { numRuns: 60 },
      );
    });
  });

  test(`a server of ${name} drops datagrams of any bytes`, async () => {
    const { handler, dispatcher } = server(name);
    const datagrams = handler.serveDatagrams?.(new FakeSessions());
    const socket = new FakeSocket();
    fc.assert(
      fc.property(bytes(200), fc.boolean(), (data, known) => {
        assert.equal(datagrams?.receive({ data, peer: clientAt }, socket, known), false);
      }),
      { numRuns: 100 },
    );
    await settle();
    assert.equal(dispatcher.associations.length, 0);
  });
}

describe('headers that are authentic', () => {
  test('of a request are decoded as they were encoded', () => {
    const address = Buffer.from([1, 192, 0, 2, 1, 0, 80]);
    fc.assert(
      fc.property(bytes(900), bytes(100), (padding, payload) => {
        const header = encodeRequestVariable(address, padding, payload);
        const result = outcome(() => decodeRequestVariable(header));
        if (padding.length + payload.length === 0) assert.equal(result, 'rejected');
        else assert.deepEqual(result, { destination: { host: '192.0.2.1', port: 80 }, payload });
      }),
      { numRuns: 100 },
    );
  });

  test('of a time far from now are rejected', () => {
    for (const stamp of [0n, 2n ** 63n, 2n ** 64n - 1n]) {
      const header = Buffer.alloc(11);
      header.writeBigUInt64BE(stamp, 1);
      assert.equal(
        outcome(() => decodeRequestFixed(header, WALL)),
        'rejected',
      );
    }
  });
});
