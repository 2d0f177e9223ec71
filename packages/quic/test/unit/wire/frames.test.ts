import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { QuicError, TransportErrorCode } from '../../../src/errors.ts';
import * as writers from '../../../src/wire/frame-writers.ts';
import { FrameReader } from '../../../src/wire/frame-reader.ts';
import { FrameType, type FramesPacketType, rulesOf } from '../../../src/wire/frame-types.ts';
import { PacketType } from '../../../src/wire/packet-header.ts';
import { frameRecorder, type FrameCall } from '../../../../../test/support/quic/frame-recorder.ts';

type Call = readonly [name: string, ...parts: (number | boolean | string)[]];

const hex = (text: string): Buffer => Buffer.from(text.replaceAll(' ', ''), 'hex');

/** Reads `bytes` from the middle of a larger buffer; returns the calls and the error. */
function read(
  bytes: Uint8Array,
  packet: FramesPacketType = PacketType.ONE_RTT,
  receiver: 'client' | 'server' = 'client',
): { calls: Call[]; error: QuicError | undefined; reader: FrameReader } {
  const recorded: FrameCall[] = [];
  const reader = new FrameReader(receiver);
  const around = Buffer.concat([hex('010101'), bytes, hex('010101')]);
  const error = reader.read(around, 3, 3 + bytes.length, packet, frameRecorder(recorded));
  // Byte ranges as hexadecimal text.
  const calls = recorded.map((parts): Call => {
    const [name, ...rest] = parts.map((part) =>
      Buffer.isBuffer(part) ? part.toString('hex') : part,
    );
    return [String(name), ...rest];
  });
  return { calls, error, reader };
}

const number = fc.oneof(fc.maxSafeNat(), fc.nat(20_000), fc.nat(70), fc.constant(0));
const data = fc.uint8Array({ maxLength: 100, size: 'max' });
const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');

/** Writes with `write` into room of exactly `size` bytes, and expects `calls`. */
function survives(size: number, write: (out: Uint8Array) => number, calls: readonly Call[]): void {
  const out = new Uint8Array(size + 4).fill(0xee);
  assert.equal(write(out), size);
  assert.deepEqual(out.subarray(size), new Uint8Array(4).fill(0xee));
  const result = read(out.subarray(0, size));
  assert.equal(result.error, undefined);
  assert.deepEqual(result.calls, calls);
  const goesOn = extendsToTheEnd(out[0] ?? 0);
  for (let cut = 1; cut < size; cut++) {
    const { error } = read(out.subarray(0, cut));
    if (error || !goesOn) assert.equal(error?.code, TransportErrorCode.FRAME_ENCODING_ERROR);
  }
}

/** Whether a frame of this type has no length of its own, so that it may be cut in its data. */
const extendsToTheEnd = (type: number): boolean =>
  type === FrameType.DATAGRAM || ((type & 0xf8) === FrameType.STREAM && (type & 0x02) === 0);

test('frames of numbers survive, in exactly the size that was announced', () => {
  const w = writers;
  fc.assert(
    fc.property(number, number, number, (a, b, c) => {
      type Case = readonly [size: number, write: (out: Uint8Array) => number, ...Call];
      const one = (type: number, name: string, ...kind: readonly boolean[]): Case => [
        w.numberSize(a),
        (o) => w.writeNumber(o, 0, type, a),
        name,
        ...kind,
        a,
      ];
      const two = (type: number, name: string): Case => [
        w.twoNumbersSize(a, b),
        (o) => w.writeTwoNumbers(o, 0, type, a, b),
        name,
        a,
        b,
      ];
      const cases: readonly Case[] = [
        [1, (o) => w.writePing(o, 0), 'ping'],
        [
          w.resetStreamSize(a, b, c),
          (o) => w.writeResetStream(o, 0, a, b, c),
          'resetStream',
          a,
          b,
          c,
        ],
        two(FrameType.STOP_SENDING, 'stopSending'),
        one(FrameType.MAX_DATA, 'maxData'),
        two(FrameType.MAX_STREAM_DATA, 'maxStreamData'),
        one(FrameType.MAX_STREAMS_BIDIRECTIONAL, 'maxStreams', true),
        one(FrameType.MAX_STREAMS_UNIDIRECTIONAL, 'maxStreams', false),
        one(FrameType.DATA_BLOCKED, 'dataBlocked'),
        two(FrameType.STREAM_DATA_BLOCKED, 'streamDataBlocked'),
        one(FrameType.STREAMS_BLOCKED_BIDIRECTIONAL, 'streamsBlocked', true),
        one(FrameType.STREAMS_BLOCKED_UNIDIRECTIONAL, 'streamsBlocked', false),
        one(FrameType.RETIRE_CONNECTION_ID, 'retireConnectionId'),
        [1, (o) => w.writeHandshakeDone(o, 0), 'handshakeDone'],
      ];
      for (const [size, write, ...call] of cases) survives(size, write, [call]);
    }),
    { numRuns: 30 },
  );
});

test('frames with bytes survive, in exactly the size that was announced', () => {
  const offset = fc.oneof(fc.nat(20_000), fc.maxSafeNat()).map((n) => Math.min(n, 2 ** 53 - 200));
  fc.assert(
    fc.property(number, offset, data, fc.boolean(), (a, at, bytes, fin) => {
      const w = writers;
      const put = (out: Uint8Array, head: number): number => (
        out.set(bytes, head),
        head + bytes.length
      );
      const size = bytes.length;
      survives(
        w.twoNumbersSize(at, size) + size,
        (out) => put(out, w.writeTwoNumbers(out, 0, FrameType.CRYPTO, at, size)),
        [['crypto', at, text(bytes)]],
      );
      for (const length of [size, -1]) {
        survives(
          w.streamHeaderSize(a, at, length) + size,
          (out) => put(out, w.writeStreamHeader(out, 0, a, at, length, fin)),
          [['stream', a, at, text(bytes), fin]],
        );
        survives(
          w.datagramHeaderSize(length) + size,
          (out) => put(out, w.writeDatagramHeader(out, 0, length)),
          [['datagram', text(bytes)]],
        );
      }
      survives(
        w.connectionCloseSize(a, at, size),
        (out) => w.writeConnectionClose(out, 0, a, at, bytes),
        [['connectionClose', a, at, text(bytes)]],
      );
      survives(
        w.applicationCloseSize(a, size),
        (out) => w.writeApplicationClose(out, 0, a, bytes),
        [['applicationClose', a, text(bytes)]],
      );
      if (size === 0) return;
      survives(w.newTokenSize(size), (out) => w.writeNewToken(out, 0, bytes), [
        ['newToken', text(bytes)],
      ]);
      const id = bytes.subarray(0, 20);
      const token = new Uint8Array(16).fill(3);
      const retired = Math.min(a, at);
      survives(
        w.newConnectionIdSize(a, retired, id.length),
        (out) => w.writeNewConnectionId(out, 0, a, retired, id, token),
        [['newConnectionId', a, retired, text(id), text(token)]],
      );
    }),
    { numRuns: 40 },
  );
  const challenge = Uint8Array.of(1, 2, 3, 4, 5, 6, 7, 8);
  survives(writers.PATH_FRAME_SIZE, (out) => writers.writePathChallenge(out, 0, challenge), [
    ['pathChallenge', '0102030405060708'],
  ]);
  survives(writers.PATH_FRAME_SIZE, (out) => writers.writePathResponse(out, 0, challenge), [
    ['pathResponse', '0102030405060708'],
  ]);
});

/** Ranges of packet numbers, the newest first. */
const rangesOf = (list: readonly (readonly [number, number])[]): writers.AckRangeSource => ({
  length: list.length,
  smallest: (index) => list[index]![0],
  largest: (index) => list[index]![1],
});

test('acknowledgements survive with their ranges, and with as many as there is room for', () => {
  const steps = fc.array(fc.tuple(fc.nat(300), fc.nat(300)), {
    minLength: 1,
    maxLength: 80,
    size: 'max',
  });
  fc.assert(
    fc.property(
      steps,
      number,
      fc.option(fc.tuple(number, number, number)),
      (list, delay, marks) => {
        let next = 0;
        const ranges = list
          .map(([gap, length]): [number, number] => {
            const smallest = next + gap;
            next = smallest + length + 2;
            return [smallest, smallest + length];
          })
          .toReversed();
        const ecn = marks ? { ect0: marks[0], ect1: marks[1], ce: marks[2] } : undefined;
        for (const room of [1000, 200, 60, 20, 5]) {
          const out = new Uint8Array(1000);
          const end = writers.writeAck(out, 0, room, rangesOf(ranges), delay, ecn);
          assert.ok(end <= room);
          if (end === 0) continue;
          const { calls, error } = read(out.subarray(0, end));
          assert.equal(error, undefined);
          const sent = calls.slice(2, -1).map((call) => call.slice(1));
          assert.deepEqual(calls[0], ['ackStart', ranges[0]![1], delay]);
          assert.deepEqual([calls[1]!.slice(1), ...sent], ranges.slice(0, sent.length + 1));
          assert.deepEqual(calls.at(-1), ['ackEnd', marks !== null, ...(marks ?? [0, 0, 0])]);
          if (room === 1000) assert.equal(sent.length + 1, Math.min(64, ranges.length));
        }
        assert.ok(writers.writeAck(new Uint8Array(99), 0, 60, rangesOf(ranges), delay, ecn) > 0);
      },
    ),
    { numRuns: 60 },
  );
});

test('acknowledgements of packet 0, and in exactly the room that there is, survive', () => {
  assert.deepEqual(read(hex('02 00 00 00 00')).calls, [
    ['ackStart', 0, 0],
    ['ackRange', 0, 0],
    ['ackEnd', false, 0, 0, 0],
  ]);
  assert.deepEqual(read(hex('02 03 00 01 01 00 00')).calls.slice(1, 3), [
    ['ackRange', 2, 3],
    ['ackRange', 0, 0],
  ]);
  const received = [
    [9, 8],
    [3, 1],
  ] as const;
  const ranges = {
    length: 2,
    largest: (index: number) => received[index]?.[0] ?? 0,
    smallest: (index: number) => received[index]?.[1] ?? 0,
  };
  const out = new Uint8Array(20);
  for (const [room, size] of [
    [4, 0],
    [5, 5],
    [6, 5],
    [7, 7],
  ] as const) {
    assert.equal(writers.writeAck(out, 0, room, ranges, 0, undefined), size, `${room} bytes`);
  }
});

test('an acknowledgement that is truncated anywhere is an error', () => {
  for (const frame of [
    '02 09 00 01 00 03 01',
    '02 40ff 00 01 00 4003 4001',
    '03 09 00 01 00 03 01 01 02 03',
  ]) {
    const bytes = hex(frame);
    assert.equal(read(bytes).error, undefined);
    for (let cut = 1; cut < bytes.length; cut++) {
      const { error, calls } = read(bytes.subarray(0, cut));
      assert.equal(error?.reason, 'a frame exceeds its packet', `${frame} cut at ${cut}`);
      assert.ok(!calls.some(([name]) => name === 'ackEnd'));
    }
  }
});

test('an offset of 0 is left out of a STREAM frame, a length of 0 is not', () => {
  const out = Buffer.alloc(8);
  const written = (offset: number, size: number): string => {
    const end = writers.writeStreamHeader(out, 0, 4, offset, size, false);
    assert.equal(end, writers.streamHeaderSize(4, offset, size));
    return out.toString('hex', 0, end);
  };
  assert.deepEqual(
    [written(0, -1), written(0, 0), written(1, -1), written(1, 0), written(0, 1)],
    ['0804', '0a0400', '0c0401', '0e040100', '0a0401'],
  );
});

test('an error names the type of its frame, the largest number for one above 2^53', () => {
  assert.equal(read(hex('21')).error?.frameType, 0x21);
  assert.equal(read(hex('ffffffffffffffff')).error?.frameType, Number.MAX_SAFE_INTEGER);
});

test('the most bytes that fit into a packet with their length are found', () => {
  const isEdge = (room: number): boolean => room < 200 || Math.abs(room - 0x4000) < 10;
  for (let room = 0; room < 20_000; room++) {
    if (!isEdge(room) && room % 97 !== 0) continue;
    for (const wanted of [0, 10, 63, 64, 65, 1200, 16_383, 16_384, 30_000]) {
      const size = writers.fittingSize(room, wanted);
      const fits = (n: number): boolean => writers.datagramHeaderSize(n) - 1 + n <= room;
      assert.equal(size >= 0, room >= 1);
      if (size < 0) continue;
      assert.ok(fits(size) && size <= wanted, `${wanted} in ${room}`);
      assert.ok(size === wanted || !fits(size + 1), `${wanted} in ${room}: ${size}`);
    }
  }
});

test('PADDING is skipped, alone it needs no acknowledgement', () => {
  const out = new Uint8Array(9).fill(0xee);
  assert.equal(writers.writePadding(out, 1, 7), 8);
  const { calls, error, reader } = read(out.subarray(1, 8));
  assert.deepEqual(
    [calls, error, reader.ackEliciting, reader.probing],
    [[], undefined, false, true],
  );
});

test('what needs an acknowledgement and what probes is known after each packet', () => {
  const facts = (bytes: string): [boolean, boolean] => {
    const { reader, error } = read(hex(bytes));
    assert.equal(error, undefined);
    return [reader.ackEliciting, reader.probing];
  };
  assert.deepEqual(facts('01'), [true, false]);
  assert.deepEqual(facts('02 05 00 00 00'), [false, false]);
  assert.deepEqual(facts('1c 00 00 00'), [false, false]);
  assert.deepEqual(facts('1a 0000000000000000 00'), [true, true]);
  assert.deepEqual(facts('1b 0000000000000000 01'), [true, false]);
  assert.deepEqual(facts('02 05 00 00 00 01'), [true, false]);
});

test('frames are allowed in the packets of RFC 9000 table 3 and nowhere else', () => {
  const { INITIAL, HANDSHAKE, ZERO_RTT, ONE_RTT } = PacketType;
  const rows: readonly [readonly number[], readonly FramesPacketType[]][] = [
    [
      [0x00, 0x01, 0x1c],
      [INITIAL, HANDSHAKE, ZERO_RTT, ONE_RTT],
    ],
    [
      [0x02, 0x03, 0x06],
      [INITIAL, HANDSHAKE, ONE_RTT],
    ],
    [
      [0x04, 0x05, 0x08, 0x0f, 0x10, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18, 0x19, 0x1a],
      [ZERO_RTT, ONE_RTT],
    ],
    [
      [0x1d, 0x30, 0x31],
      [ZERO_RTT, ONE_RTT],
    ],
    [[0x07, 0x1b, 0x1e], [ONE_RTT]],
    [[0x1f, 0x20, 0x2f, 0x32, 0x3f, 0x40], []],
  ];
  for (const [types, packets] of rows) {
    for (const type of types) {
      for (const packet of [INITIAL, HANDSHAKE, ZERO_RTT, ONE_RTT]) {
        assert.equal(
          (rulesOf(type) & (1 << packet)) !== 0,
          packets.includes(packet),
          `${type} ${packet}`,
        );
      }
    }
  }
  const { error, calls } = read(hex('01 10 05'), INITIAL);
  assert.deepEqual(calls, [['ping']]);
  assert.equal(error?.code, TransportErrorCode.PROTOCOL_VIOLATION);
  assert.equal(error.frameType, FrameType.MAX_DATA);
});

const MAX = 'ffffffffffffffff'; // 2^62 - 1

test('malformed frames and forbidden numbers are errors with their code', () => {
  const code = TransportErrorCode;
  const cases: readonly [string, number, ('client' | 'server')?][] = [
    ['', code.PROTOCOL_VIOLATION],
    ['1f', code.FRAME_ENCODING_ERROR],
    ['4fff', code.FRAME_ENCODING_ERROR],
    ['40', code.FRAME_ENCODING_ERROR],
    ['4001', code.PROTOCOL_VIOLATION], // PING in two bytes
    ['07 00', code.FRAME_ENCODING_ERROR],
    ['07 01 aa', code.PROTOCOL_VIOLATION, 'server'],
    ['1e', code.PROTOCOL_VIOLATION, 'server'],
    ['02 05 00 00 06', code.FRAME_ENCODING_ERROR],
    ['02 05 00 01 01 03 00', code.FRAME_ENCODING_ERROR],
    ['02 05 00 01 01 00 03', code.FRAME_ENCODING_ERROR],
    [`02 05 00 ${MAX} 00`, code.FRAME_ENCODING_ERROR],
    ['02 05 00 3f 00 0000', code.FRAME_ENCODING_ERROR],
    [`02 ${MAX} 00 00 00`, code.PROTOCOL_VIOLATION],
    [`02 05 00 00 ${MAX}`, code.FRAME_ENCODING_ERROR],
    [`02 05 00 01 00 ${MAX} ${MAX}`, code.FRAME_ENCODING_ERROR],
    [`0e 00 ${MAX} 00`, code.FLOW_CONTROL_ERROR],
    ['0e 00 c01fffffffffffff 01 aa', code.FLOW_CONTROL_ERROR],
    ['06 c01fffffffffffff 01 aa', code.CRYPTO_BUFFER_EXCEEDED],
    [`0a ${MAX} 00`, code.STREAM_LIMIT_ERROR],
    ['0a 00 05 aa', code.FRAME_ENCODING_ERROR],
    [`04 00 00 ${MAX}`, code.FLOW_CONTROL_ERROR],
    [`06 ${MAX} 00`, code.CRYPTO_BUFFER_EXCEEDED],
    ['12 d000000000000001', code.FRAME_ENCODING_ERROR],
    [`17 ${MAX}`, code.FRAME_ENCODING_ERROR],
    [`18 05 06 04 aaaaaaaa ${'00'.repeat(16)}`, code.FRAME_ENCODING_ERROR],
    [`18 05 00 00 ${'00'.repeat(16)}`, code.FRAME_ENCODING_ERROR],
    [`18 05 00 15 ${'00'.repeat(37)}`, code.FRAME_ENCODING_ERROR],
    [`18 ${MAX} 00 01 aa ${'00'.repeat(16)}`, code.PROTOCOL_VIOLATION],
    [`19 ${MAX}`, code.PROTOCOL_VIOLATION],
    ['1a 00000000000000', code.FRAME_ENCODING_ERROR],
    ['1c 00 00 05 aa', code.FRAME_ENCODING_ERROR],
    ['31 05 aa', code.FRAME_ENCODING_ERROR],
  ];
  for (const [bytes, expected, receiver] of cases) {
    const { error } = read(hex(bytes), PacketType.ONE_RTT, receiver);
    assert.equal(error?.code, expected, bytes);
  }
});

test('limits, delays and error codes above 2^53 are read as 2^53 - 1', () => {
  const { MAX_SAFE_INTEGER: most } = Number;
  const cases: readonly [string, Call][] = [
    [`10 ${MAX}`, ['maxData', most]],
    [`11 00 ${MAX}`, ['maxStreamData', 0, most]],
    ['12 d000000000000000', ['maxStreams', true, most]],
    [`05 04 ${MAX}`, ['stopSending', 4, most]],
    [`04 04 ${MAX} 01`, ['resetStream', 4, most, 1]],
    [`1d ${MAX} 00`, ['applicationClose', most, '']],
  ];
  for (const [bytes, call] of cases) {
    const { calls, error } = read(hex(bytes));
    assert.deepEqual([calls, error], [[call], undefined], bytes);
  }
});

test('an error of the visitor ends the reading', () => {
  const own = new QuicError(TransportErrorCode.FINAL_SIZE_ERROR, 'own', 8);
  for (const name of ['ping', 'ackStart', 'ackRange', 'second', 'ackEnd']) {
    const calls: FrameCall[] = [];
    let ranges = 0;
    const visitor = frameRecorder(calls, (called) => {
      const isSecond = called === 'ackRange' && ++ranges === 2;
      return called === name || (isSecond && name === 'second') ? own : undefined;
    });
    const bytes = hex('02 05 00 01 00 00 00 01 01');
    const reader = new FrameReader('client');
    assert.equal(reader.read(bytes, 0, bytes.length, PacketType.ONE_RTT, visitor), own);
    assert.equal(calls.at(-1)?.[0], name === 'second' ? 'ackRange' : name);
  }
});

test('the frames of a packet are counted, ranges of an ACK eight for one, and those beyond 64 each', () => {
  const reader = new FrameReader('server');
  const visitor = frameRecorder([]);
  const framesOf = (...bytes: number[]): number => {
    const error = reader.read(Buffer.from(bytes), 0, bytes.length, PacketType.ONE_RTT, visitor);
    assert.equal(error, undefined);
    return reader.frames;
  };
  assert.equal(framesOf(1, 1, 0, 0, 0, 1), 4);
  assert.equal(framesOf(0x02, 5, 0, 0, 0), 1);
  const withRanges = (count: number): number => {
    const ranges = Array.from({ length: 2 * count }, () => 0);
    return framesOf(0x02, 0x7f, 0xff, 0, 0x40, count, 0, ...ranges);
  };
  assert.deepEqual([7, 8, 64, 80].map(withRanges), [1, 2, 9, 9 + 16]);
});
