import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import {
  hasReservedBits,
  keyPhaseOf,
  longHeaderSize,
  numberSizeOf,
  offersVersion,
  PacketHeader,
  PacketType,
  readPacketHeader,
  writeLength,
  writeLongHeader,
  writeRetry,
  writeShortHeader,
  writeVersionNegotiation,
} from '../../../src/wire/packet-header.ts';

const bytesUpTo = (maxLength: number): fc.Arbitrary<Uint8Array> => fc.uint8Array({ maxLength });
const part = (bytes: Uint8Array, at: number, size: number): Uint8Array =>
  bytes.slice(at, at + size);

test('long headers survive, and packets of one datagram follow each other', () => {
  const types = [PacketType.INITIAL, PacketType.HANDSHAKE] as const;
  fc.assert(
    fc.property(
      fc.constantFrom(...types),
      bytesUpTo(20),
      bytesUpTo(20),
      bytesUpTo(100),
      fc.integer({ min: 1, max: 4 }),
      fc.nat(2000),
      (type, destination, source, given, numberSize, payload) => {
        const token = type === PacketType.INITIAL ? given : new Uint8Array(0);
        const bytes = new Uint8Array(3000);
        const start = 3;
        const ids = [destination, source] as const;
        const numberAt = writeLongHeader(bytes, start, type, numberSize, ...ids, token);
        assert.equal(
          numberAt - start,
          longHeaderSize(type, destination.length, source.length, token.length),
        );
        const end = numberAt + numberSize + payload + 16;
        writeLength(bytes, numberAt, end);
        const header = new PacketHeader();
        assert.equal(readPacketHeader(bytes, start, bytes.length, 8, header), undefined);
        assert.deepEqual(
          [header.type, header.version, header.start, header.numberOffset, header.end],
          [type, 1, start, numberAt, end],
        );
        const { destinationIdOffset, destinationIdSize, sourceIdOffset, sourceIdSize } = header;
        assert.deepEqual(part(bytes, destinationIdOffset, destinationIdSize), destination);
        assert.deepEqual(part(bytes, sourceIdOffset, sourceIdSize), source);
        assert.deepEqual(part(bytes, header.tokenOffset, header.tokenSize), token);
        assert.equal(numberSizeOf(bytes[start]!), numberSize);
        assert.equal(hasReservedBits(bytes[start]!), false);
        for (const [cut, fault] of [
          [end - 1, 'length exceeds the datagram'],
          [numberAt - 1, 'truncated'],
          [start + 5, 'truncated'],
          [start, 'empty'],
        ] as const) {
          assert.equal(readPacketHeader(bytes, start, cut, 8, header), fault);
        }
      },
    ),
  );
});

test('a long header may have ids of 20 bytes, and its packet the rest of the datagram', () => {
  const bytes = new Uint8Array(200);
  const header = new PacketHeader();
  for (const [destination, source, fault] of [
    [20, 20, undefined],
    [0, 0, undefined],
    [21, 20, 'connection id too long'],
    [20, 21, 'connection id too long'],
  ] as const) {
    const ids = [new Uint8Array(destination), new Uint8Array(source)] as const;
    const numberAt = writeLongHeader(bytes, 0, PacketType.INITIAL, 1, ...ids, new Uint8Array(0));
    writeLength(bytes, numberAt, numberAt + 20);
    assert.equal(readPacketHeader(bytes, 0, numberAt + 20, 8, header), fault);
    if (!fault) assert.equal(header.end, numberAt + 20);
  }
});

test('an Initial packet that ends before or within its token is truncated', () => {
  const bytes = new Uint8Array(100);
  const id = new Uint8Array(0);
  writeLongHeader(bytes, 0, PacketType.INITIAL, 1, id, id, new Uint8Array(10));
  for (let end = 1; end < 7 + 1 + 10 + 2; end++) {
    assert.equal(readPacketHeader(bytes, 0, end, 8, new PacketHeader()), 'truncated', `${end}`);
  }
});

test('short headers survive', () => {
  const bytes = new Uint8Array(100);
  const header = new PacketHeader();
  for (const size of [0, 8, 20]) {
    const id = new Uint8Array(size).fill(9);
    for (const phase of [0, 1] as const) {
      const numberAt = writeShortHeader(bytes, 4, 3, phase, id);
      assert.equal(readPacketHeader(bytes, 4, 60, size, header), undefined);
      assert.deepEqual(
        [header.type, header.version, header.numberOffset, header.end],
        [PacketType.ONE_RTT, 0, numberAt, 60],
      );
      assert.deepEqual(part(bytes, header.destinationIdOffset, header.destinationIdSize), id);
      assert.equal(keyPhaseOf(bytes[4]!), phase);
      assert.equal(numberSizeOf(bytes[4]!), 3);
      assert.equal(readPacketHeader(bytes, 4, numberAt, size, header), 'truncated');
    }
  }
});

test('Retry packets survive: the token ends where the tag begins', () => {
  const bytes = new Uint8Array(100);
  const token = Uint8Array.of(1, 2, 3);
  const end = writeRetry(bytes, 0, Uint8Array.of(7), Uint8Array.of(8, 9), token, 0xff) + 16;
  const header = new PacketHeader();
  assert.equal(readPacketHeader(bytes, 0, end, 8, header), undefined);
  assert.equal(header.type, PacketType.RETRY);
  assert.deepEqual(part(bytes, header.tokenOffset, header.tokenSize), token);
  assert.deepEqual([header.numberOffset, header.end], [end - 16, end]);
  assert.equal(readPacketHeader(bytes, 0, end - 3, 8, header), undefined);
  assert.equal(header.tokenSize, 0);
  assert.equal(readPacketHeader(bytes, 0, end - 4, 8, header), 'truncated');
});

test('version negotiation survives, with ids of up to 255 bytes', () => {
  const bytes = new Uint8Array(600);
  const [destination, source] = [new Uint8Array(255).fill(1), new Uint8Array(200).fill(2)];
  const end = writeVersionNegotiation(bytes, 0, destination, source, [0x1a2a3a4a, 1], 0);
  const header = new PacketHeader();
  assert.equal(readPacketHeader(bytes, 0, end, 8, header), undefined);
  assert.equal(header.type, PacketType.VERSION_NEGOTIATION);
  assert.deepEqual([header.destinationIdSize, header.sourceIdSize], [255, 200]);
  assert.equal(offersVersion(bytes, header, 1), true);
  assert.equal(offersVersion(bytes, header, 0x1a2a3a4a), true);
  assert.equal(offersVersion(bytes, header, 2), false);
  const none = writeVersionNegotiation(bytes, 0, destination, source, [], 0);
  assert.equal(readPacketHeader(bytes, 0, none, 8, header), undefined);
  assert.equal(offersVersion(bytes, header, 1), false);
});

test('of an unknown version, what all versions share is read', () => {
  const bytes = new Uint8Array(64);
  bytes.set([0x80, 0x6b, 0x33, 0x43, 0xcf, 2, 5, 6, 1, 7]);
  const header = new PacketHeader();
  assert.equal(readPacketHeader(bytes, 0, 64, 8, header), undefined);
  assert.equal(header.type, PacketType.UNKNOWN_VERSION);
  assert.equal(header.version, 0x6b3343cf);
  assert.deepEqual(part(bytes, header.destinationIdOffset, 2), Uint8Array.of(5, 6));
  assert.deepEqual(part(bytes, header.sourceIdOffset, header.sourceIdSize), Uint8Array.of(7));
});

test('headers that break the rules of version 1 are named', () => {
  const header = new PacketHeader();
  const read = (...bytes: number[]): string | undefined => {
    const packet = new Uint8Array(100);
    packet.set(bytes);
    return readPacketHeader(packet, 0, 100, 8, header);
  };
  assert.equal(read(0x00), 'fixed bit is 0');
  assert.equal(read(0x80, 0, 0, 0, 1), 'fixed bit is 0');
  assert.equal(read(0xc0, 0, 0, 0, 1, 21), 'connection id too long');
  assert.equal(read(0xc0, 0, 0, 0, 1, 0, 21), 'connection id too long');
  assert.equal(read(0xc0, 0, 0, 0, 1, 0, 200), 'truncated');
  assert.equal(read(0xc0, 0, 0, 0, 1, 0, 0, 0x7f, 0xff), 'truncated');
  assert.equal(read(0xc0, 0, 0, 0, 1, 0, 0, 0, 0x7f, 0xff), 'length exceeds the datagram');
});

test('reserved bits are found in long and in short headers', () => {
  assert.deepEqual([0xc4, 0xc8, 0x48, 0x50].map(hasReservedBits), [true, true, true, true]);
  assert.deepEqual([0xf3, 0x67, 0x40].map(hasReservedBits), [false, false, false]);
});
