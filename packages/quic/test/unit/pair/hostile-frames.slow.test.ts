import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { TransportErrorCode } from '../../../src/errors.ts';
import { INITIAL_STREAM_WINDOW } from '../../../src/limits.ts';
import { forgeInitial } from '../../../../../test/support/quic/forge.ts';
import { frame, Hostile } from '../../../../../test/support/quic/hostile.ts';
import { CLIENT_ADDRESS, Pair, SERVER_ADDRESS } from '../../../../../test/support/quic/pair.ts';

const E = TransportErrorCode;

const token = Array.from({ length: 16 }, (_, i) => i);

test('a flood of ids that retire each other ends the connection, and memory stays bounded (RFC 9000 §5.1.2)', () => {
  const hostile = new Hostile();
  let sent = 0;
  for (let n = 10; n < 10_000 && hostile.code === undefined; n++, sent++) {
    const bytes = [n & 0xff, n >> 8, 1, 1, 1, 1, 1, 1, n & 0xff, n >> 8, ...token.slice(2)];
    hostile.send(frame(0x18, [n, n, 8], bytes));
  }
  assert.equal(hostile.code, E.CONNECTION_ID_LIMIT_ERROR);
  assert.ok(sent < 40);
});

test('endless CRYPTO data ends the connection (RFC 9000 §7.5)', () => {
  const hostile = new Hostile();
  for (let offset = 1; offset < 1e6 && hostile.code === undefined; offset += 1000) {
    hostile.send(
      frame(
        0x06,
        [offset, 1000],
        Array.from({ length: 1000 }, () => 0),
      ),
    );
  }
  assert.equal(hostile.code, E.CRYPTO_BUFFER_EXCEEDED);
});

test('a flood of PATH_CHALLENGE is answered within bounds and does no harm (RFC 9000 §8.2.2)', () => {
  const hostile = new Hostile();
  const flood = Buffer.concat(
    Array.from({ length: 100 }, (_, i) => frame(0x1a, [], [i, 2, 3, 4, 5, 6, 7, 8])),
  );
  const before = hostile.pair.sent.length;
  for (let i = 0; i < 100; i++) hostile.send(flood);
  assert.equal(hostile.code, undefined);
  assert.ok(hostile.pair.sent.length - before <= 100 * 6);
  assert.equal(hostile.victim.connection.state, 'confirmed');
});

test('a storm of streams that are opened and reset leaves nothing behind (RFC 9000 §4.6)', () => {
  const hostile = new Hostile();
  for (let n = 0; n < 20_000 && hostile.code === undefined; n++) {
    hostile.send(Buffer.concat([frame(0x0a, [4 * n, 1], [1]), frame(0x04, [4 * n, 0, 1])]));
    hostile.victim.connection.reset(4 * n, 0);
  }
  // Without an acknowledgement of the resets no stream closes, and no further one is allowed.
  assert.equal(hostile.code, E.STREAM_LIMIT_ERROR);
});

test('stream data in single bytes with gaps holds no more than the window (RFC 9000 §4.1)', () => {
  const hostile = new Hostile();
  for (let n = 0; n < 13_000; n++) hostile.send(frame(0x0e, [0, 2 + n * 3, 1], [0]));
  assert.equal(hostile.code, undefined);
  hostile.send(frame(0x0e, [0, INITIAL_STREAM_WINDOW, 1], [0]));
  assert.equal(hostile.code, E.FLOW_CONTROL_ERROR);
});

test('a server that retires all ids of a client gets others, within bounds (RFC 9000 §5.1.1)', () => {
  const hostile = new Hostile('server');
  for (let sequence = 1; sequence < 100; sequence++) hostile.send(frame(0x19, [sequence]));
  assert.equal(hostile.code, undefined);
  assert.ok(hostile.pair.clientIds.live.size <= 5);
});

test('repeated HANDSHAKE_DONE and NEW_TOKEN do no harm (RFC 9000 §19.7, §19.20)', () => {
  const hostile = new Hostile('server');
  for (let n = 0; n < 1000; n++) {
    hostile.send(Buffer.concat([frame(0x1e), frame(0x07, [3], [1, 2, n & 0xff])]));
  }
  assert.equal(hostile.code, undefined);
  hostile.send(frame(0x07, [0]));
  assert.equal(hostile.code, E.FRAME_ENCODING_ERROR);
});

/** Any frames, most of which are well-formed at least. */
const anyFrame = fc
  .tuple(
    fc.integer({ min: 0, max: 0x32 }),
    fc.array(
      fc.oneof(fc.nat(300), fc.nat(2 ** 20), fc.maxSafeNat(), fc.constantFrom(0, 1, 2 ** 53 - 1)),
      { maxLength: 5 },
    ),
    fc.uint8Array({ maxLength: 40, size: 'max' }),
  )
  .map(([type, numbers, bytes]) => frame(type, numbers, [...bytes]));
const anyPackets = fc.array(fc.array(anyFrame, { minLength: 1, maxLength: 4 }), {
  maxLength: 30,
  size: 'max',
});
const KNOWN: ReadonlySet<number> = new Set(Object.values(E));

for (const role of ['client', 'server'] as const) {
  test(`arbitrary frames of a ${role} in correctly sealed packets end with a code of the RFC at worst`, () => {
    fc.assert(
      fc.property(anyPackets, (packets) => {
        const settings = { maxDatagramFrameSize: 65_535 };
        const hostile = new Hostile(role, { server: settings, client: settings });
        for (const frames of packets) {
          hostile.send(Buffer.concat(frames));
          const { connection } = hostile.victim;
          if (connection.closeReason !== undefined) break;
        }
        const { code } = hostile;
        if (code !== undefined) assert.ok(KNOWN.has(code) || (code >= 0x100 && code < 0x200));
        // It comes to an end, whatever was in its way.
        hostile.victim.connection.close(0, '', hostile.pair.now);
        hostile.pair.run(() => hostile.victim.connection.state === 'closed');
      }),
      { numRuns: 150 },
    );
  });
}

test('arbitrary frames in Initial packets end with a code of the RFC at worst', () => {
  fc.assert(
    fc.property(anyPackets, (packets) => {
      const pair = new Pair({ delay: 10 });
      pair.flush();
      const [first] = pair.flying;
      assert.ok(first);
      const originalId = first.data.slice(6, 14);
      const clientId = first.data.slice(15, 23);
      pair.arrive(first, 'server');
      for (const [index, frames] of packets.entries()) {
        const plaintext = Buffer.concat([...frames, Buffer.alloc(1200)]);
        const data = forgeInitial(originalId, clientId, 100 + index, plaintext);
        pair.arrive({ ...first, data }, 'server');
      }
      const { closeReason } = pair.server.connection;
      if (closeReason?.by !== 'self') return;
      assert.ok(KNOWN.has(closeReason.code) || closeReason.code >= 0x100);
    }),
    { numRuns: 150 },
  );
});

test('arbitrary bytes instead of packets change nothing', () => {
  fc.assert(
    fc.property(
      fc.array(fc.uint8Array({ maxLength: 1500, size: 'max' }), { maxLength: 20 }),
      (datagrams) => {
        const pair = new Pair({ delay: 10 }).connect();
        for (const data of datagrams) {
          pair.arrive({ data, from: CLIENT_ADDRESS, to: SERVER_ADDRESS, ecn: 0 }, 'server');
          pair.arrive({ data, from: SERVER_ADDRESS, to: CLIENT_ADDRESS, ecn: 0 }, 'client');
        }
        const id = pair.client.connection.openStream(true) ?? -1;
        pair.client.send(id, 1000);
        pair.run(() => pair.server.streams.get(id)?.end === 'finished');
      },
    ),
    { numRuns: 60 },
  );
});

test('packets that come before their keys are kept within bounds (RFC 9001 §5.7)', () => {
  const pair = new Pair({ delay: 10 });
  pair.flush();
  const [first] = pair.flying;
  assert.ok(first);
  pair.arrive(first, 'server');
  const early = Buffer.concat([Buffer.of(0x40), first.data.subarray(6, 14), Buffer.alloc(1100, 7)]);
  for (let n = 0; n < 100; n++) pair.arrive({ ...first, data: early }, 'server');
  assert.ok(pair.server.dropped('no-keys') >= 90);
  pair.connect();
});
