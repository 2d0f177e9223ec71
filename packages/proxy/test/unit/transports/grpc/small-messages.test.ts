import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Http2ErrorCode, Http2Driver } from '@weir/http/http2';
import { GRANT_UNITS, GRANTS_A_TURN } from '../../../../../io/src/net/bounds/units.ts';
import { linkPair } from '@weir/io/links';
import { encodeHunks } from '../../../../src/transports/grpc/hunks.ts';
import { GrpcLink } from '../../../../src/transports/grpc/link.ts';
import { REQUEST } from '../../../../../../test/support/http2/core.ts';
import { ManualClock } from '../../../../../../test/support/manual-clock.ts';

/** Two ends of a tunnel. */
async function tunnel(): Promise<{
  readonly near: GrpcLink;
  readonly send: (bytes: Uint8Array) => void;
  /** Resets the tunnel once all is sent. */
  readonly reset: () => Promise<void>;
}> {
  const [below, above] = linkPair();
  const clock = new ManualClock();
  const settings = { initialWindowSize: 1 << 20 };
  const meter = { addReceived: () => undefined, addSent: () => undefined };
  const accepted = Promise.withResolvers<GrpcLink>();
  const server = new Http2Driver(
    below,
    clock,
    { role: 'server', settings, connectionWindow: 1 << 24 },
    {
      onRequest: (stream) => {
        stream.respond([{ name: ':status', value: '200' }], false);
        stream.serve();
        const done = (): void => undefined;
        const options = { clock, meter, trailers: [], onSettled: done, onReleased: done };
        accepted.resolve(new GrpcLink(stream, options));
      },
      onEnd: () => undefined,
    },
  );
  const ready = Promise.withResolvers<void>();
  const client = new Http2Driver(
    above,
    clock,
    { role: 'client', settings, connectionWindow: 1 << 24 },
    { onPeerSettings: ready.resolve, onEnd: () => undefined },
  );
  server.start();
  client.start();
  await ready.promise;
  const stream = client.connection.request(REQUEST);
  assert.ok(stream);
  const send = (bytes: Uint8Array): void => {
    stream.push(bytes, false);
    stream.flush();
  };
  const reset = async (): Promise<void> => {
    while (stream.queued > 0) await nextTurn();
    stream.reset(Http2ErrorCode.CANCEL);
  };
  return { near: await accepted.promise, send, reset };
}

test('empty messages are read in turns that all tunnels share, and what follows them arrives', async () => {
  // More bytes than are decoded at once.
  const COUNT = 80 * GRANT_UNITS;
  const TUNNELS = 8;
  const tunnels = await Promise.all(Array.from({ length: TUNNELS }, tunnel));
  let read = 0;
  for (const { near, send } of tunnels) {
    send(Buffer.concat([Buffer.alloc(5 * COUNT), ...encodeHunks(Buffer.from('payload'))]));
    void near.read().then((chunk) => {
      assert.equal(String(chunk && Buffer.from(chunk)), 'payload');
      read++;
    });
  }
  let turns = 0;
  for (; read < TUNNELS; turns++) await nextTurn();
  const least = (TUNNELS * COUNT) / (GRANTS_A_TURN * GRANT_UNITS);
  assert.ok(turns >= least / 2, `${turns} turns`);
});

test('what waits for its turn when a tunnel is reset is still read', async () => {
  const TUNNELS = 2 * GRANTS_A_TURN;
  const tunnels = await Promise.all(Array.from({ length: TUNNELS }, tunnel));
  // More bytes than are decoded at once.
  const COUNT = 16 * GRANT_UNITS;
  const message = encodeHunks(Buffer.from('word '));
  const messages = Buffer.concat(Array.from({ length: COUNT }, () => message).flat());
  const readToEnd = async (near: GrpcLink): Promise<void> => {
    let text = '';
    await assert.rejects(async () => {
      for (;;) text += Buffer.from((await near.read()) ?? []).toString();
    }, /reset the tunnel/);
    assert.equal(text.length, 5 * COUNT);
  };
  for (const { send } of tunnels) send(messages);
  await Promise.all(tunnels.flatMap(({ near, reset }) => [readToEnd(near), reset()]));
});
