import assert from 'node:assert/strict';
import { once } from 'node:events';
import * as http2 from 'node:http2';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { test } from 'node:test';
import { Flag, FrameType } from '../../../../../http/src/http2/frames.ts';
import { encodeHunks } from '../../../../src/transports/grpc/hunks.ts';
import type { ByteLink } from '@weir/io/links';
import { readAll } from '../../../../../io/test/conformance/byte-link.ts';
import { CarrierPair, grpcPair } from '../../../../../../test/support/links/carriers.ts';
import {
  CLIENT_START,
  frame,
  plainBlock,
  SETTINGS_ACK,
} from '../../../../../../test/support/http2/raw-frames.ts';
import { Http2Server } from '../../../../../../test/support/peers/http2-server.ts';
import { ManualClock } from '../../../../../../test/support/manual-clock.ts';

const never = new AbortController().signal;
/** From silence to the probe, and from the probe to the close. */
const PROBE_INTERVAL_MS = 30_000;
const PROBE_RESPONSE_MS = 10_000;

const REQUEST = plainBlock([
  [':method', 'POST'],
  [':scheme', 'http'],
  [':path', '/GunService/Tun'],
  [':authority', 'server.test'],
  ['content-type', 'application/grpc'],
]);

/** A client that goes away and sends DATA behind the end of its stream (RFC 9113 §5.1). */
const BEHIND_THE_END = Buffer.concat([
  CLIENT_START,
  SETTINGS_ACK,
  frame(FrameType.HEADERS, Flag.END_HEADERS | Flag.END_STREAM, 11, REQUEST),
  frame(FrameType.GOAWAY, 0, 0, Buffer.alloc(8)),
  frame(FrameType.DATA, 0, 11, Buffer.alloc(73)),
]);

test('a client that sends behind the end of a tunnel has it reset, and its connection still ends', async () => {
  const clock = new ManualClock();
  await using carriers = await CarrierPair.open(grpcPair(false), clock);
  const client = connect({ host: '127.0.0.1', port: carriers.port });
  client.on('error', () => undefined).resume();
  const gone = new Promise((resolve) => client.on('close', resolve));
  client.write(BEHIND_THE_END);
  const { link } = await carriers.accept();
  assert.equal(String(await readAll(link)), '');
  assert.match(String(await link.closed), /STREAM_CLOSED/);
  clock.advance(PROBE_INTERVAL_MS + PROBE_RESPONSE_MS);
  await gone;
});

for (const closing of [false, true]) {
  const what = closing ? 'that its client is closing' : 'with a silent tunnel';
  test(`a connection ${what} stays open as long as the client responds`, async () => {
    const clock = new ManualClock();
    await using carriers = await CarrierPair.open(grpcPair(false), clock);
    const session = http2.connect(`http://127.0.0.1:${carriers.port}`);
    await once(session, 'remoteSettings');
    const stream = session.request({
      ':method': 'POST',
      ':path': '/GunService/Tun',
      'content-type': 'application/grpc',
    });
    const { link } = await carriers.accept();
    if (closing) session.close();
    for (let i = 0; i < 3; i++) {
      const probed = once(session, 'remoteSettings');
      clock.advance(PROBE_INTERVAL_MS);
      await probed;
      // It arrives after the acknowledgement.
      stream.write(Buffer.concat(encodeHunks(Buffer.from('x'))));
      assert.equal(String(await link.read()), 'x');
    }
    stream.end();
    assert.equal(await link.read(), undefined);
    session.destroy();
  });
}

/** A path between a client and a server that can be lost silently. */
class Tap implements Disposable {
  readonly #server = createServer();
  readonly #sockets: Socket[] = [];

  static async open(port: number): Promise<Tap> {
    const tap = new Tap();
    tap.#server.on('connection', (client) => {
      const upstream = connect({ host: '127.0.0.1', port });
      tap.#sockets.push(client, upstream);
      for (const socket of [client, upstream]) socket.on('error', () => undefined);
      client.pipe(upstream).pipe(client);
    });
    tap.#server.listen(0, '127.0.0.1');
    await once(tap.#server, 'listening');
    return tap;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Loses the present connections; later ones work. */
  lose(): void {
    for (const socket of this.#sockets) socket.unpipe().pause();
  }

  [Symbol.dispose](): void {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
  }
}

/** A tunnel on the first connection, over which the server has sent a byte. */
async function talkingTunnel(
  server: Http2Server,
  dialer: ReturnType<Http2Server['dialer']>,
): Promise<ByteLink> {
  const { link } = await dialer.dial({ signal: never });
  const stream = await server.stream(0);
  stream.respond({ ':status': 200, 'content-type': 'application/grpc' });
  stream.write(Buffer.concat(encodeHunks(Buffer.from('a'))));
  assert.equal(String(await link.read()), 'a');
  return link;
}

test('tunnels to a server that has vanished fail at the limit', async () => {
  await using server = await Http2Server.open();
  using tap = await Tap.open(server.port);
  const clock = new ManualClock();
  const dialer = server.dialer(clock, tap.port);
  const link = await talkingTunnel(server, dialer);
  tap.lose();
  const lost = assert.rejects(link.read(), /does not respond/);
  // The byte may have been received after the last look, so this is a little later.
  clock.advance(PROBE_INTERVAL_MS + PROBE_RESPONSE_MS);
  await lost;
  dialer.close();
});

test('the first tunnel after a connection was lost uses a new one', async () => {
  await using server = await Http2Server.open();
  using tap = await Tap.open(server.port);
  const clock = new ManualClock();
  const dialer = server.dialer(clock, tap.port);
  await talkingTunnel(server, dialer);
  tap.lose();
  clock.advance(20_000);
  // Bytes received since the last dial do not show that the server still responds.
  const dialling = dialer.dial({ signal: never });
  clock.advance(5_000);
  await dialling;
  await server.stream(1);
  assert.equal(server.sessions.length, 2);
  dialer.close();
});
