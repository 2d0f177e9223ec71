import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TransportErrorCode } from '../../../src/errors.ts';
import { CRYPTO_WINDOW, MAX_CRYPTO_PIECES } from '../../../src/packets/crypto-streams.ts';
import {
  MAX_RETIREMENTS,
  INITIAL_STREAM_WINDOW as WINDOW,
  MAX_BIDIRECTIONAL_STREAMS as STREAMS,
} from '../../../src/limits.ts';
import { DEFAULT_STREAM_GRANTS } from '../../../src/streams/grants.ts';
import { frame, Hostile } from '../../../../../test/support/quic/hostile.ts';
import type { PairOptions } from '../../../../../test/support/quic/pair.ts';

const E = TransportErrorCode;
const bytes = (size: number, value = 0): number[] => Array.from({ length: size }, () => value);

/** NEW_CONNECTION_ID; its id and token depend on a number that is the sequence number unless said otherwise. */
const newId = (sequence: number, retirePriorTo = 0, id = sequence, token = sequence): Buffer =>
  frame(0x18, [sequence, retirePriorTo, 8], [...bytes(8, id + 1), ...bytes(16, token + 101)]);

/** STREAM with so many bytes at an offset. */
const stream = (id: number, offset: number, size: number, fin = false): Buffer =>
  frame(fin ? 0x0f : 0x0e, [id, offset, size], bytes(size));

const DATAGRAMS: PairOptions = { server: { maxDatagramFrameSize: 100 } };
/** A server that has a bidirectional and a unidirectional stream of its own, 1 and 3. */
const OPENED = 'opened';
const SMALL: PairOptions = {
  server: {
    grants: {
      ...DEFAULT_STREAM_GRANTS,
      connectionWindow: 10,
      maxConnectionWindow: 10,
      unread: 10,
      bidirectionalStreams: 2,
    },
  },
};

/** Packets of a client, the last of which breaks a rule or, without a code, does not. */
const CASES: readonly (readonly [
  name: string,
  code: number | undefined,
  packets: readonly Buffer[],
  options?: PairOptions | typeof OPENED,
])[] = [
  ['no frame at all (§12.4)', E.PROTOCOL_VIOLATION, [Buffer.alloc(0)]],
  ['an unknown frame type (§12.4)', E.FRAME_ENCODING_ERROR, [frame(0x21)]],
  ['a truncated frame (§12.4)', E.FRAME_ENCODING_ERROR, [frame(0x06, [0, 100], [1, 2])]],
  ['HANDSHAKE_DONE by a client (§19.20)', E.PROTOCOL_VIOLATION, [frame(0x1e)]],
  ['NEW_TOKEN by a client (§19.7)', E.PROTOCOL_VIOLATION, [frame(0x07, [1], [1])]],
  ['an ACK of a packet never sent (§13.1)', E.PROTOCOL_VIOLATION, [frame(0x02, [5000, 0, 0, 0])]],
  ['an ACK with a negative range (§19.3.1)', E.FRAME_ENCODING_ERROR, [frame(0x02, [1, 0, 0, 5])]],
  // Flow control.
  ['data up to a stream’s window (§4.1)', undefined, [stream(0, WINDOW - 1, 1)]],
  ['data beyond a stream’s window (§4.1)', E.FLOW_CONTROL_ERROR, [stream(0, WINDOW, 1)]],
  ['data at an absurd offset (§19.8)', E.FLOW_CONTROL_ERROR, [stream(0, 2 ** 53 - 2, 1)]],
  ['RESET_STREAM beyond the window (§19.4)', E.FLOW_CONTROL_ERROR, [frame(4, [0, 0, WINDOW + 1])]],
  ['RESET_STREAM up to the window (§19.4)', undefined, [frame(4, [0, 0, WINDOW])]],
  ['all that a connection allows (§4.1)', undefined, [stream(0, 0, 6), stream(4, 0, 4)], SMALL],
  [
    'more than a connection allows (§4.1)',
    E.FLOW_CONTROL_ERROR,
    [stream(0, 0, 6), stream(4, 0, 4), stream(4, 4, 1)],
    SMALL,
  ],
  [
    'a gap that a connection does not allow (§4.1)',
    E.FLOW_CONTROL_ERROR,
    [stream(0, 0, 6), stream(4, 4, 1)],
    SMALL,
  ],
  // Final sizes.
  ['data behind the end (§4.5)', E.FINAL_SIZE_ERROR, [stream(0, 0, 3, true), stream(0, 3, 1)]],
  ['an end that moves (§4.5)', E.FINAL_SIZE_ERROR, [stream(0, 0, 3, true), stream(0, 2, 0, true)]],
  ['an end below data (§4.5)', E.FINAL_SIZE_ERROR, [stream(0, 0, 3), stream(0, 2, 0, true)]],
  ['a reset behind the end', E.FINAL_SIZE_ERROR, [stream(0, 0, 3, true), frame(4, [0, 0, 4])]],
  ['a reset below data (§4.5)', E.FINAL_SIZE_ERROR, [stream(0, 0, 3), frame(4, [0, 0, 2])]],
  ['late data of a reset stream', undefined, [frame(4, [0, 0, 5]), stream(0, 0, 5, true)]],
  ['data behind a reset (§4.5)', E.FINAL_SIZE_ERROR, [frame(4, [0, 0, 5]), stream(0, 0, 6)]],
  // Stream ids and states.
  ['a stream at the limit (§4.6)', undefined, [stream(4 * (STREAMS - 1), 0, 1)]],
  ['a stream beyond the limit (§4.6)', E.STREAM_LIMIT_ERROR, [stream(4 * STREAMS, 0, 1)]],
  ['a reset beyond the limit (§4.6)', E.STREAM_LIMIT_ERROR, [frame(4, [8, 0, 0])], SMALL],
  ['data on the server’s stream (§19.8)', E.STREAM_STATE_ERROR, [stream(3, 0, 1)], OPENED],
  ['a reset of the server’s (§19.4)', E.STREAM_STATE_ERROR, [frame(0x04, [3, 0, 0])], OPENED],
  ['its STREAM_DATA_BLOCKED (§19.13)', E.STREAM_STATE_ERROR, [frame(0x15, [3, 0])], OPENED],
  ['data on a stream that is not there', E.STREAM_STATE_ERROR, [stream(1, 0, 1)]],
  ['a reset of one that is not there', E.STREAM_STATE_ERROR, [frame(0x04, [1, 0, 0])]],
  ['MAX_STREAM_DATA for none (§19.10)', E.STREAM_STATE_ERROR, [frame(0x11, [1, 100])]],
  ['STOP_SENDING for none (§19.5)', E.STREAM_STATE_ERROR, [frame(0x05, [1, 0])]],
  ['STOP_SENDING for the own stream (§19.5)', E.STREAM_STATE_ERROR, [frame(0x05, [2, 0])]],
  ['MAX_STREAM_DATA for the own (§19.10)', E.STREAM_STATE_ERROR, [frame(0x11, [2, 0])]],
  ['MAX_STREAMS above 2^60 (§19.11)', E.FRAME_ENCODING_ERROR, [frame(0x12, [], bytes(8, 0xff))]],
  // CRYPTO.
  ['CRYPTO in its window', undefined, [frame(6, [CRYPTO_WINDOW.application - 1, 1], [0])]],
  [
    'CRYPTO beyond its window (§7.5)',
    E.CRYPTO_BUFFER_EXCEEDED,
    [frame(0x06, [CRYPTO_WINDOW.application, 1], [0])],
  ],
  [
    'CRYPTO in more pieces than are held',
    E.CRYPTO_BUFFER_EXCEEDED,
    Array.from({ length: MAX_CRYPTO_PIECES + 1 }, (_, i) => frame(0x06, [2 * i + 2, 1], [0])),
  ],
  ['a KeyUpdate of TLS (RFC 9001 §6)', 0x10a, [frame(0x06, [0, 5], [0x18, 0, 0, 1, 0])]],
  ['a Finished after the handshake', 0x10a, [frame(0x06, [0, 4], [0x14, 0, 0, 0])]],
  // Connection ids.
  ['an id that retires itself (§19.15)', E.FRAME_ENCODING_ERROR, [newId(10, 11)]],
  ['an empty id (§19.15)', E.FRAME_ENCODING_ERROR, [frame(0x18, [10, 0, 0], bytes(16))]],
  ['a sequence number with another id', E.PROTOCOL_VIOLATION, [newId(9, 9), newId(9, 9, 30, 9)]],
  ['a sequence number with another token', E.PROTOCOL_VIOLATION, [newId(9, 9), newId(9, 9, 9, 30)]],
  ['an id with another sequence number', E.PROTOCOL_VIOLATION, [newId(9, 9), newId(10, 9, 9)]],
  [
    'a spare id with another number',
    E.PROTOCOL_VIOLATION,
    [newId(9, 8), newId(10, 9), newId(11, 8, 10)],
  ],
  ['an id that is repeated (§19.15)', undefined, Array.from({ length: 9 }, () => newId(10, 9))],
  ['as many ids as announced (§5.1.1)', undefined, [9, 10, 11, 12].map((n) => newId(n, 9))],
  [
    'more ids than announced (§5.1.1)',
    E.CONNECTION_ID_LIMIT_ERROR,
    [9, 10, 11, 12, 13].map((n) => newId(n, 9)),
  ],
  [
    'ids that are retired without end (§5.1.2)',
    E.CONNECTION_ID_LIMIT_ERROR,
    // The first of them retires the four of the handshake.
    Array.from({ length: MAX_RETIREMENTS - 2 }, (_, i) => newId(10 + i, 10 + i)),
  ],
  ['retirement of an id never issued (§19.16)', E.PROTOCOL_VIOLATION, [frame(0x19, [77])]],
  ['retirement of the id in use (§19.16)', E.PROTOCOL_VIOLATION, [frame(0x19, [0])]],
  ['retirement twice (§19.16)', undefined, [frame(0x19, [1]), frame(0x19, [1])]],
  // DATAGRAM.
  ['a DATAGRAM not announced (RFC 9221 §3)', E.PROTOCOL_VIOLATION, [frame(0x30, [], [1])]],
  ['a DATAGRAM of the size announced', undefined, [frame(0x30, [], bytes(99))], DATAGRAMS],
  [
    'a DATAGRAM larger than announced (RFC 9221 §3)',
    E.PROTOCOL_VIOLATION,
    [frame(0x30, [], bytes(100))],
    DATAGRAMS,
  ],
];

for (const [name, code, packets, options] of CASES) {
  test(`${code === undefined ? 'a connection takes' : 'a connection is closed for'} ${name}`, () => {
    const hostile = new Hostile('client', options === OPENED ? {} : options);
    if (options === OPENED) {
      hostile.victim.connection.openStream(true);
      hostile.victim.connection.openStream(false);
    }
    hostile.victim.reads = false;
    for (const packet of packets) {
      assert.equal(hostile.code, undefined);
      hostile.pair.passes = () => packet === packets.at(-1);
      hostile.send(packet);
    }
    assert.equal(hostile.code, code);
    if (code === undefined) return;
    hostile.pair.advance(100);
    assert.equal(hostile.received, code, 'by a CONNECTION_CLOSE');
  });
}

test('a connection is closed for reserved bits that are set (RFC 9000 §17.3.1)', () => {
  const hostile = new Hostile();
  hostile.send(frame(0x01), { reserved: 0x18 });
  assert.equal(hostile.code, E.PROTOCOL_VIOLATION);
});

test('a connection is closed for a key update before the last one was followed (RFC 9001 §6.2)', () => {
  const hostile = new Hostile();
  for (const code of [undefined, E.KEY_UPDATE_ERROR]) {
    hostile.forger.updateKeys();
    hostile.flood(frame(0x01), 1);
    assert.equal(hostile.code, code);
  }
});
