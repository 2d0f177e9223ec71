import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { createSealer } from '../../../../src/crypto/aead.ts';
import { AEAD_SHAPES } from '../../../../src/crypto/aead.ts';
import { ProtocolError } from '../../../../src/net/errors.ts';
import { ChunkOpener, ChunkSealer } from '../../../../src/protocols/shadowsocks/chunks.ts';
import { decodeAddressed } from '../../../../src/protocols/shadowsocks/packets.ts';
import { METHODS } from '../../../../src/protocols/shadowsocks/methods.ts';
import { readMessage } from '../../../../src/protocols/shadowsocks/edition-2022/datagrams.ts';
import {
  decodeRequestFixed,
  decodeRequestVariable,
  decodeResponseFixed,
  encodeRequestVariable,
  writeStamp,
} from '../../../../src/protocols/shadowsocks/edition-2022/wire.ts';
import { NonceCounter } from '../../../../src/crypto/nonce-counter.ts';
import {
  client,
  connectTo,
  dialOptions,
  expire,
  FakeAnswers,
  FakeSessions,
  METHOD_NAMES,
  server,
  clientAt,
  settle,
} from './harness.ts';

const WALL = Date.UTC(2026, 0, 1);
const bytes = (maxLength: number): fc.Arbitrary<Buffer> =>
  fc.uint8Array({ maxLength }).map((array) => Buffer.from(array));

/** Runs a decoder; its own errors are answers too. */
function answer<T>(decode: () => T): T | 'refused' {
  try {
    return decode();
  } catch (error) {
    assert.ok(error instanceof ProtocolError, String(error));
    return 'refused';
  }
}

/** Pieces of `whole` cut at those fractions. */
function cut(whole: Buffer, places: readonly number[]): Buffer[] {
  const at = [0, ...places.map((place) => Math.floor(place * whole.length)).sort((a, b) => a - b)];
  return at.map((start, i) => whole.subarray(start, at[i + 1]));
}

const places = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 12 });

for (const name of METHOD_NAMES) {
  const { [name]: method } = METHODS;
  const subkey = Buffer.alloc(method.keyLength, 6);

  describe(`chunks of ${name}`, () => {
    test('give the same payload however they are cut', () => {
      const payloads = fc.array(fc.uint8Array({ maxLength: 300 }), { maxLength: 6 });
      fc.assert(
        fc.property(payloads, places, (pieces, places) => {
          using sealer = new ChunkSealer(method, subkey);
          const length = pieces.reduce((sum, { length }) => sum + sealer.sealedLength(length), 0);
          const wire = Buffer.alloc(length);
          let offset = 0;
          for (const piece of pieces) offset = sealer.payload(piece, wire, offset);
          assert.equal(offset, length);
          using opener = new ChunkOpener(method, subkey);
          const out = cut(wire, places).map((part) => Buffer.from(opener.push(part)));
          assert.deepEqual(Buffer.concat(out), Buffer.concat(pieces));
          assert.ok(opener.atBoundary);
        }),
        { numRuns: 60 },
      );
    });

    test('of any bytes without a key are refused', () => {
      fc.assert(
        fc.property(bytes(200), (wire) => {
          using opener = new ChunkOpener(method, subkey);
          const result = answer(() => opener.push(wire));
          assert.ok(result === 'refused' || result.length === 0);
          if (wire.length >= 18) assert.equal(result, 'refused');
        }),
        { numRuns: 60 },
      );
    });

    test('of any length and any authentic payload are taken or refused', () => {
      fc.assert(
        fc.property(fc.integer({ min: 0, max: 0xffff }), fc.nat({ max: 100 }), (length, have) => {
          using sealer = createSealer(method.aead, subkey);
          using opener = new ChunkOpener(method, subkey);
          const nonce = new NonceCounter(AEAD_SHAPES[method.aead].nonceLength);
          const told = Buffer.alloc(18);
          sealer.seal(nonce.bytes, Buffer.of(length >> 8, length & 0xff), told);
          nonce.next();
          if (length > method.maxChunk) {
            assert.equal(
              answer(() => opener.push(told)),
              'refused',
            );
            return;
          }
          assert.equal(opener.push(told).length, 0);
          // Payload of another length than was told.
          const other = Buffer.alloc(have + 16);
          sealer.seal(nonce.bytes, Buffer.alloc(have), other);
          const result = answer(() => opener.push(other));
          if (have === length) assert.equal(result.length, have);
          else assert.ok(result === 'refused' || result.length === 0);
        }),
        { numRuns: 60 },
      );
    });
  });

  test(`a server of ${name} takes any bytes in any pieces and goes on`, async () => {
    const to = server(name);
    await fc.assert(
      fc.asyncProperty(bytes(400), places, async (wire, places) => {
        const { far, served } = connectTo(to);
        for (const part of cut(wire, places)) await far.write(part);
        await expire(to);
        assert.ok((await served) instanceof Error);
        assert.equal(to.dispatcher.streams.length, 0);
      }),
      { numRuns: 12 },
    );
  });

  test(`a client of ${name} takes any answer and goes on`, async () => {
    await fc.assert(
      fc.asyncProperty(bytes(400), places, async (wire, places) => {
        const from = client(name);
        const link = await from.outbound.connect({ host: 'a', port: 1 }, dialOptions());
        const [far] = from.dialled;
        for (const part of cut(wire, places)) void far?.write(part);
        void far?.closeWrite();
        const result = await link.read().catch((error: unknown) => error);
        assert.ok(result instanceof ProtocolError || (result === undefined && wire.length === 0));
        link.destroy();
      }),
      { numRuns: 12 },
    );
  });

  test(`datagrams of ${name} may be any bytes`, async () => {
    const { handler, dispatcher } = server(name);
    const datagrams = handler.serveDatagrams?.(new FakeSessions());
    const answers = new FakeAnswers();
    fc.assert(
      fc.property(bytes(200), fc.boolean(), (data, known) => {
        assert.equal(datagrams?.receive({ data, peer: clientAt }, answers, known), false);
      }),
      { numRuns: 100 },
    );
    await settle();
    assert.equal(dispatcher.associations.length, 0);
  });
}

describe('headers that are authentic', () => {
  test('of a request may be any bytes', () => {
    fc.assert(
      fc.property(bytes(1200), (header) => {
        const result = answer(() => decodeRequestVariable(header));
        if (result === 'refused') return;
        assert.ok(result.payload.length < header.length);
        assert.ok(result.destination.host.length > 0);
      }),
      { numRuns: 500 },
    );
  });

  test('of a request come back as they were written', () => {
    const address = Buffer.from([1, 192, 0, 2, 1, 0, 80]);
    fc.assert(
      fc.property(bytes(900), bytes(100), (padding, payload) => {
        const header = encodeRequestVariable(address, padding, payload);
        const result = answer(() => decodeRequestVariable(header));
        if (padding.length + payload.length === 0) assert.equal(result, 'refused');
        else assert.deepEqual(result, { destination: { host: '192.0.2.1', port: 80 }, payload });
      }),
      { numRuns: 100 },
    );
  });

  test('of fixed length may be any bytes, and any time', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 11, maxLength: 11 }), (header) => {
        const result = answer(() => decodeRequestFixed(Buffer.from(header), WALL));
        assert.ok(result === 'refused' || result <= 0xffff);
      }),
      { numRuns: 200 },
    );
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 43, maxLength: 43 }), (header) => {
        answer(() => decodeResponseFixed(Buffer.from(header), WALL, Buffer.alloc(32)));
      }),
      { numRuns: 200 },
    );
    for (const stamp of [0n, 2n ** 63n, 2n ** 64n - 1n]) {
      const header = Buffer.alloc(11);
      header.writeBigUInt64BE(stamp, 1);
      assert.equal(
        answer(() => decodeRequestFixed(header, WALL)),
        'refused',
      );
    }
  });

  test('of datagrams may be any bytes', () => {
    const session = Buffer.alloc(8, 4);
    fc.assert(
      fc.property(bytes(1200), fc.boolean(), fc.boolean(), (body, stamped, answered) => {
        const clientSession = answered ? session : undefined;
        if (stamped && body.length >= 17) {
          writeStamp(body, answered ? 1 : 0, WALL);
          if (answered) body.set(session, 9);
        }
        const packet = readMessage(body, 0, { wallMs: WALL, clientSession });
        if (packet) assert.ok(packet.data.length < body.length);
      }),
      { numRuns: 500 },
    );
    fc.assert(
      fc.property(bytes(300), (body) => {
        const packet = decodeAddressed(body);
        if (packet) assert.ok(packet.data.length < body.length);
      }),
      { numRuns: 500 },
    );
  });
});
