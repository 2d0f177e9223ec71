import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  FREE_FRAMES_A_PACKET,
  MAX_WORK_A_TURN,
  PRESSED_WORK_A_TURN,
  UNAUTHENTICATED_WORK_A_TURN,
  WORK_OF_ALL_A_TURN,
} from '../../../src/limits.ts';
import { Hostile } from '../../../../../test/support/quic/hostile.ts';
import type { PairOptions } from '../../../../../test/support/quic/pair.ts';

/** Frames that cost little to send, and mean nothing or little. */
const FLOODS: readonly (readonly [string, readonly number[]])[] = [
  ['RETIRE_CONNECTION_ID', [0x19, 1]],
  ['ACK of one packet', [0x02, 0, 0, 0, 0]],
  ['empty STREAM', [0x0a, 0, 0]],
  ['PING', [0x01]],
  ['MAX_DATA', [0x10, 5]],
  ['MAX_STREAM_DATA', [0x11, 0, 5]],
  ['MAX_STREAMS', [0x12, 5]],
  ['DATA_BLOCKED', [0x14, 5]],
  ['STREAM_DATA_BLOCKED', [0x15, 0, 5]],
  ['STREAMS_BLOCKED', [0x16, 5]],
  ['PATH_CHALLENGE', [0x1a, 1, 2, 3, 4, 5, 6, 7, 8]],
  ['PATH_RESPONSE', [0x1b, 1, 2, 3, 4, 5, 6, 7, 8]],
  ['CRYPTO', [0x06, 0, 0]],
  ['STOP_SENDING', [0x05, 0, 0]],
  ['empty DATAGRAM', [0x31, 0]],
];

/** As many of a frame as fit into a packet, and how many those are. */
function packetOf(frame: readonly number[]): { readonly bytes: Buffer; readonly frames: number } {
  const frames = Math.floor(1100 / frame.length);
  return { bytes: Buffer.from(Array.from({ length: frames }, () => frame).flat()), frames };
}

const PACKETS = 900;

/** Sends a flood in one turn. Returns the frames that were read, and those of one packet. */
function flood(frame: readonly number[], options: PairOptions): { read: number; each: number } {
  const hostile = new Hostile('client', options);
  hostile.send(Buffer.of(0x0a, 0, 0)); // the stream that some frames are about
  const { bytes, frames } = packetOf(frame);
  const { connection } = hostile.victim;
  const before = connection.statistics().packetsReceived;
  for (let left = PACKETS; left > 0; left -= 45) hostile.flood(bytes, 45);
  const packets = connection.statistics().packetsReceived - before;
  assert.equal(hostile.code, undefined);
  assert.equal(hostile.victim.dropped('work'), PACKETS - packets);
  // The next turn reads on.
  hostile.pair.flush();
  hostile.flood(bytes, 1);
  assert.equal(connection.statistics().packetsReceived - before, packets + 1);
  return { read: packets * frames, each: frames };
}

for (const [name, frame] of FLOODS) {
  test(`a flood of ${name} frames has a bounded number of them read in a turn`, () => {
    const server = { maxDatagramFrameSize: 1200 };
    const { read, each } = flood(frame, { server });
    const packets = Math.ceil(MAX_WORK_A_TURN / (each - FREE_FRAMES_A_PACKET));
    assert.equal(read, packets * each);
    const unknown = flood(frame, { server: { ...server, authenticates: true } });
    const fewer = Math.ceil(UNAUTHENTICATED_WORK_A_TURN / (each - FREE_FRAMES_A_PACKET));
    assert.equal(unknown.read, fewer * each);
  });
}

test('packets with few frames are read however many come in a turn', () => {
  const hostile = new Hostile('client', { server: { authenticates: true } });
  const frames = Buffer.alloc(FREE_FRAMES_A_PACKET, 0x01);
  for (let i = 0; i < 200; i++) hostile.flood(frames, 45);
  assert.equal(hostile.victim.dropped('work'), 0);
});

test('the floods of many peers of an endpoint share what a turn has, and others are read', () => {
  const sharedWork = { frames: 0 };
  const peers = Array.from(
    { length: 40 },
    () => new Hostile('client', { serverOptions: { sharedWork } }),
  );
  const { bytes, frames } = packetOf([0x01]);
  let read = 0;
  for (const peer of peers) {
    const before = peer.victim.connection.statistics().packetsReceived;
    peer.flood(bytes, 45);
    read += (peer.victim.connection.statistics().packetsReceived - before) * frames;
  }
  assert.ok(read <= WORK_OF_ALL_A_TURN + 40 * (PRESSED_WORK_A_TURN + 2 * frames), `${read} frames`);
  const honest = new Hostile('client', { serverOptions: { sharedWork } });
  honest.flood(Buffer.of(0x01), 45);
  assert.equal(honest.victim.dropped('work'), 0);
});
