import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ProtocolError } from '@weir/io';
import {
  decodeHeader,
  encodeEnd,
  encodePacketHeader,
  encodeStreamHeader,
  HEADER_LIMIT,
  MuxFrameDecoder,
} from '../../../src/mux/frame.ts';
import {
  addressed,
  END,
  FAILED,
  frame,
  KEEP,
  KEEP_ALIVE,
  NEW,
} from '../../../../../test/support/peers/mux-client.ts';

const SITE = { host: 'a.example', port: 80 };
const hex = (text: string): Buffer => Buffer.from(text.replaceAll(' ', ''), 'hex');

/** The header of a frame without the length before it. */
const headerOf = (bytes: Uint8Array): Uint8Array => bytes.subarray(2);

/** The first event of a frame whose header has that many bytes. */
const firstEventOf = (headerBytes: number): unknown => {
  const padding = Buffer.alloc(headerBytes - 4);
  return new MuxFrameDecoder().decode(frame(1, KEEP, undefined, padding)).next().value;
};

describe('a frame header of Mux.Cool', () => {
  test('shorter than its fixed part is rejected', () => {
    for (const size of [0, 1, 3]) {
      assert.throws(() => decodeHeader(Buffer.alloc(size, 4)), /a frame header is too short/);
    }
    assert.equal(decodeHeader(hex('0009 04 00')).id, 9);
  });

  test('may have 512 bytes and no more, which is known by its length alone', () => {
    assert.ok(firstEventOf(HEADER_LIMIT));
    assert.throws(() => firstEventOf(HEADER_LIMIT + 1), ProtocolError);
    const length = hex('0201');
    assert.throws(() => [...new MuxFrameDecoder().decode(length)], /a frame header has 513 bytes/);
  });

  test('of a new flow over neither TCP nor UDP is rejected', () => {
    const bytes = headerOf(frame(1, NEW, undefined, addressed('tcp', SITE)));
    bytes[4] = 3;
    assert.throws(() => decodeHeader(bytes), /unknown network/);
  });

  test('of a new flow is followed by addressed datagrams only over UDP and with a global id', () => {
    const isAddressed = (network: 'tcp' | 'udp', more: number): boolean => {
      const rest = addressed(network, SITE, Buffer.alloc(more));
      const header = decodeHeader(headerOf(frame(1, NEW, undefined, rest)));
      return header.status === NEW && header.addressed;
    };
    assert.equal(isAddressed('udp', 8), true);
    assert.equal(isAddressed('udp', 7), false);
    assert.equal(isAddressed('tcp', 8), false);
  });
});

describe('what is sent to a client of Mux.Cool', () => {
  test('is the end of a flow, with the error bit when it failed', () => {
    assert.deepEqual(Buffer.from(encodeEnd(0x102, false)), hex('0004 0102 03 00'));
    assert.deepEqual(Buffer.from(encodeEnd(0x102, true)), hex('0004 0102 03 02'));
  });

  test('is data with its length', () => {
    assert.deepEqual(Buffer.from(encodeStreamHeader(0x102, 0x304)), hex('0004 0102 02 01 0304'));
    assert.deepEqual(encodePacketHeader(7, 5, undefined), encodeStreamHeader(7, 5));
  });

  test('is a datagram with its source, where the client uses XUDP', () => {
    const source = { host: '192.0.2.1', port: 53 };
    const expected = hex('000c 0007 02 01 02 0035 01 c0000201 0304');
    assert.deepEqual(encodePacketHeader(7, 0x304, source), expected);
  });

  test('is no datagram whose source does not fit', () => {
    assert.equal(encodePacketHeader(7, 1, { host: 'x'.repeat(256), port: 53 }), undefined);
  });
});

const DNS = { host: '2001:db8::7', port: 53 };

const SAMPLES = [
  frame(1, NEW, 'hello', addressed('tcp', SITE)),
  frame(2, NEW, undefined, addressed('udp', DNS, Buffer.alloc(8, 1))),
  frame(1, KEEP, 'x'.repeat(60)),
  frame(2, KEEP, '', addressed('udp', SITE)),
  frame(1, END, undefined, undefined, FAILED),
  frame(9, KEEP_ALIVE, 'pad'),
];

/** The events of a decoder for these pieces, with data joined. */
function outcome(chunks: readonly Uint8Array[]): unknown[] {
  const decoder = new MuxFrameDecoder();
  const seen: unknown[] = [];
  let data = '';
  try {
    for (const chunk of chunks) {
      for (const event of decoder.decode(chunk)) {
        if (event.kind === 'header') seen.push({ ...event.header, length: event.length });
        else {
          data += Buffer.from(event.bytes).toString('hex');
          if (!event.last) continue;
          seen.push(data);
          data = '';
        }
      }
    }
  } catch (error) {
    assert.ok(error instanceof ProtocolError, String(error));
    seen.push(error.message);
  }
  return [...seen, data];
}

describe('the decoder of Mux.Cool frames', () => {
  test('reads what clients write', () => {
    assert.deepEqual(outcome([Buffer.concat(SAMPLES)]), [
      {
        id: 1,
        hasData: true,
        status: NEW,
        network: 'tcp',
        destination: SITE,
        addressed: false,
        length: 5,
      },
      Buffer.from('hello').toString('hex'),
      {
        id: 2,
        hasData: false,
        status: NEW,
        network: 'udp',
        destination: DNS,
        addressed: true,
        length: 0,
      },
      { id: 1, hasData: true, status: KEEP, peer: undefined, length: 60 },
      '78'.repeat(60),
      { id: 2, hasData: true, status: KEEP, peer: SITE, length: 0 },
      { id: 1, hasData: false, status: END, failed: true, length: 0 },
      { id: 9, hasData: true, status: KEEP_ALIVE, length: 3 },
      Buffer.from('pad').toString('hex'),
      '',
    ]);
  });
});
