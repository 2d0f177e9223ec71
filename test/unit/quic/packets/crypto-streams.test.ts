import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  CRYPTO_TOTAL,
  CRYPTO_WINDOW,
  CryptoStreams,
  MAX_CRYPTO_PIECES,
} from '../../../../src/quic/packets/crypto-streams.ts';
import { TransportErrorCode } from '../../../../src/quic/errors.ts';
import type { DeliveryListener, FrameLog } from '../../../../src/quic/recovery/delivery.ts';
import type { TlsLevel } from '../../../../src/quic/connection/tls-handshake.ts';

const { CRYPTO_BUFFER_EXCEEDED, PROTOCOL_VIOLATION } = TransportErrorCode;
const LEVELS: readonly TlsLevel[] = ['initial', 'handshake', 'application'];

/** Bytes that show their offset. */
const stream = (size: number, from = 0): Uint8Array =>
  Uint8Array.from({ length: size }, (_, i) => ((from + i) * 7 + ((from + i) >> 8)) & 0xff);

const receive = (streams: CryptoStreams, level: TlsLevel, offset: number, size: number) =>
  streams.receive(level, offset, stream(size, offset), 0, size);

/** All that can be read now. */
function readAll(streams: CryptoStreams, level: TlsLevel): Buffer {
  const parts: Buffer[] = [];
  for (let next = streams.read(level); next; next = streams.read(level)) {
    parts.push(Buffer.from(next));
  }
  return Buffer.concat(parts);
}

/** Has whom to notify of the parts that were written last. */
class Log implements FrameLog {
  readonly isPacketFull = false;
  #listener: DeliveryListener | undefined;

  add(listener: DeliveryListener): void {
    this.#listener = listener;
  }

  acknowledge(offset: number, size: number): void {
    this.#listener?.onAcknowledged(offset, size, 0);
  }

  lose(offset: number, size: number): void {
    this.#listener?.onLost(offset, size, 0);
  }
}

const log = new Log();

/** The parts that are due, as [offset, size]. */
function due(streams: CryptoStreams, level: TlsLevel, room = 1200): number[][] {
  const parts: number[][] = [];
  for (let next = streams.next(level, room, log); next; next = streams.next(level, room, log)) {
    parts.push([next.offset, next.size]);
  }
  return parts;
}

test('what TLS has made is sent once, in frames that fit into the room', () => {
  const streams = new CryptoStreams();
  streams.write('initial', stream(1000));
  streams.write('initial', stream(1000, 1000));
  assert.ok(streams.hasPending('initial') && !streams.hasPending('handshake'));
  const part = streams.next('initial', 1004, log);
  assert.ok(part);
  // A type, an offset of one byte and a length of two.
  assert.deepEqual([part.offset, part.size], [0, 1000]);
  assert.deepEqual(part.bytes.subarray(part.at, part.at + part.size), stream(1000));
  assert.deepEqual(due(streams, 'initial'), [[1000, 1000]]);
  assert.ok(!streams.hasPending('initial'));
});

test('nothing is sent where not even one byte fits', () => {
  const streams = new CryptoStreams();
  streams.write('initial', stream(100));
  for (const room of [-5, 0, 1, 2, 3]) assert.equal(streams.next('initial', room, log), undefined);
  assert.equal(streams.next('initial', 4, log)?.size, 1);
});

test('lost parts are sent again before new ones, but for what was acknowledged', () => {
  const streams = new CryptoStreams();
  streams.write('handshake', stream(3000));
  assert.equal(streams.next('handshake', 1003, log)?.size, 999);
  assert.equal(streams.next('handshake', 1003, log)?.size, 998);
  log.acknowledge(500, 100);
  log.lose(0, 999);
  assert.deepEqual(due(streams, 'handshake'), [
    [0, 500],
    [600, 399],
    [1997, 1003],
  ]);
});

test('a part that was declared lost and is acknowledged after all is not sent again', () => {
  const streams = new CryptoStreams();
  streams.write('handshake', stream(1000));
  due(streams, 'handshake');
  log.lose(0, 1000);
  log.acknowledge(0, 1000);
  assert.ok(!streams.hasPending('handshake'));
  assert.ok(streams.isAcknowledged('handshake'));
});

test('received data is read in order, whatever the order of its frames', () => {
  const order = [3, 1, 4, 0, 2, 2, 5];
  const streams = new CryptoStreams();
  const got: Buffer[] = [];
  for (const piece of order) {
    assert.equal(receive(streams, 'handshake', piece * 1000, 1200), undefined);
    got.push(readAll(streams, 'handshake'));
  }
  assert.deepEqual(Buffer.concat(got), Buffer.from(stream(6200)));
  assert.equal(streams.read('handshake'), undefined);
});

test('repeated and overlapping data is read once', () => {
  const streams = new CryptoStreams();
  receive(streams, 'initial', 0, 100);
  assert.equal(readAll(streams, 'initial').length, 100);
  assert.equal(receive(streams, 'initial', 0, 100), undefined);
  assert.equal(streams.read('initial'), undefined);
  receive(streams, 'initial', 50, 100);
  assert.deepEqual(readAll(streams, 'initial'), Buffer.from(stream(50, 100)));
});

test('data may be part of a larger packet', () => {
  const streams = new CryptoStreams();
  const packet = new Uint8Array([9, 9, ...stream(10), 9]);
  streams.receive('initial', 0, packet, 2, 10);
  packet.fill(0);
  assert.deepEqual(streams.read('initial'), stream(10));
});

for (const level of LEVELS) {
  test(`data of level ${level} may lie ahead by its window, which is at least 4,096 bytes`, () => {
    const window = CRYPTO_WINDOW[level];
    assert.ok(window >= 4096);
    const streams = new CryptoStreams();
    receive(streams, level, 0, 10);
    readAll(streams, level);
    assert.equal(receive(streams, level, 10 + window - 1, 1), undefined);
    assert.equal(receive(streams, level, 10 + window, 1)?.code, CRYPTO_BUFFER_EXCEEDED);
  });

  test(`endless data of level ${level} is CRYPTO_BUFFER_EXCEEDED`, () => {
    const streams = new CryptoStreams();
    let offset = 0;
    let error;
    while (error === undefined && offset <= CRYPTO_TOTAL[level]) {
      error = receive(streams, level, offset, 1000);
      readAll(streams, level);
      offset += 1000;
    }
    assert.equal(error?.code, CRYPTO_BUFFER_EXCEEDED);
    assert.equal(error.frameType, 6);
  });
}

test('data in more pieces than are held is CRYPTO_BUFFER_EXCEEDED', () => {
  const streams = new CryptoStreams();
  for (let i = 1; i <= MAX_CRYPTO_PIECES; i++) {
    assert.equal(receive(streams, 'initial', 2 * i, 1), undefined);
  }
  assert.equal(
    receive(streams, 'initial', 2 * MAX_CRYPTO_PIECES + 2, 1)?.code,
    CRYPTO_BUFFER_EXCEEDED,
  );
});

test('new data at a level that TLS has left is PROTOCOL_VIOLATION, old data is ignored', () => {
  const streams = new CryptoStreams();
  receive(streams, 'initial', 0, 100);
  readAll(streams, 'initial');
  assert.equal(streams.finish('initial'), undefined);
  assert.equal(receive(streams, 'initial', 0, 100), undefined);
  assert.equal(receive(streams, 'initial', 0, 101)?.code, PROTOCOL_VIOLATION);
});

test('a level that TLS leaves must not have unread data', () => {
  const streams = new CryptoStreams();
  receive(streams, 'initial', 10, 10);
  assert.equal(streams.finish('initial')?.code, PROTOCOL_VIOLATION);
});

test('a discarded level sends nothing, and ignores what comes', () => {
  const streams = new CryptoStreams();
  streams.write('initial', stream(100));
  due(streams, 'initial');
  log.lose(0, 50);
  receive(streams, 'initial', 10, 10);
  streams.discard('initial');
  log.lose(50, 50);
  assert.ok(!streams.hasPending('initial'));
  assert.equal(receive(streams, 'initial', 1e6, 10), undefined);
  assert.equal(streams.read('initial'), undefined);
});

test('any order of frames, losses and acknowledgements delivers the stream', () => {
  let state = 5;
  const below = (limit: number): number => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return (state >>> 8) % limit;
  };
  for (let round = 0; round < 100; round++) {
    const size = 1 + below(8000);
    const from = new CryptoStreams();
    const to = new CryptoStreams();
    from.write('handshake', stream(size));
    const flying: { offset: number; bytes: Uint8Array }[] = [];
    const got: Buffer[] = [];
    while (!from.isAcknowledged('handshake')) {
      const part = from.next('handshake', 10 + below(1200), log);
      if (part) {
        const bytes = part.bytes.slice(part.at, part.at + part.size);
        flying.push({ offset: part.offset, bytes });
      }
      if (flying.length === 0 || (part && below(3) > 0 && flying.length < 20)) continue;
      const [packet] = flying.splice(below(flying.length), 1);
      if (!packet) continue;
      const { offset, bytes } = packet;
      if (below(4) === 0) {
        log.lose(offset, bytes.length);
      } else {
        assert.equal(to.receive('handshake', offset, bytes, 0, bytes.length), undefined);
        log.acknowledge(offset, bytes.length);
        got.push(readAll(to, 'handshake'));
      }
    }
    assert.deepEqual(Buffer.concat(got), Buffer.from(stream(size)));
  }
});
