import assert from 'node:assert/strict';
import { connect, type Socket } from 'node:net';
import test, { describe } from 'node:test';
import { closePayload } from '@weir/proxy/websocket';
import {
  Opcode,
  wholeFrame,
  WsFrameDecoder,
} from '../../packages/proxy/src/transports/ws/frames.ts';
import { acceptKey } from '@weir/proxy/transports/ws/handshake';
import { portOf } from '../support/data/address.ts';
import { freedom, socksIn } from '../support/process/config.ts';
import { Weir } from '../support/process/weir.ts';
import { tcpServer, type Origin } from '../support/peers/servers.ts';
import { socksConnect } from '../support/peers/socks-client.ts';
import { readAll, readHead, readUpTo } from '../support/read.ts';
import { ID } from '../support/ways/secrets.ts';
import { weirIn, weirOut } from '../support/ways/weir-config.ts';
import type { Way } from '../support/ways/way.ts';

const WAY: Way = { protocol: 'vless', carrier: { network: 'ws' } };
const KEY = Uint8Array.of(1, 2, 3, 4);
const SIZE = 500_000;
/** VLESS: version 0 and no addons. */
const VLESS_RESPONSE = Buffer.from([0, 0]);

const binary = (data: Uint8Array, key?: Uint8Array): Buffer =>
  wholeFrame(Opcode.binary, [data], key);
const close = (code: number, key?: Uint8Array): Buffer =>
  wholeFrame(Opcode.close, [closePayload(code)], key);

interface Peer {
  readonly socket: Socket;
  /** The first data, and whether a Close frame has come. */
  readonly opened: Promise<Buffer>;
  readonly closed: Promise<void>;
}

/** A WebSocket server that is no Weir; `serve` gets each connection once its upgrade is done. */
const foreignServer = (serve: (peer: Peer) => void | Promise<void>): Promise<Origin> =>
  tcpServer(async (socket) => {
    const head = await readHead(socket);
    const key = /^sec-websocket-key: (\S+)/im.exec(head)?.[1] ?? '';
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n` +
        `Sec-WebSocket-Accept: ${acceptKey(key)}\r\n\r\n`,
    );
    await serve(peerOf(socket, true));
  });

function peerOf(socket: Socket, masked: boolean): Peer {
  const decoder = new WsFrameDecoder(masked);
  const [opened, closed] = [Promise.withResolvers<Buffer>(), Promise.withResolvers<void>()];
  const data: Uint8Array[] = [];
  socket.on('data', (chunk: Buffer) => {
    for (const event of decoder.push(chunk)) {
      if (event.kind === 'close') closed.resolve();
      if (event.kind !== 'data') continue;
      data.push(event.data);
      opened.resolve(Buffer.concat(data));
    }
  });
  return { socket, opened: opened.promise, closed: closed.promise };
}

/** A download of SIZE bytes whose end is `last`. */
const download = (last: Uint8Array | undefined) => async (peer: Peer) => {
  await peer.opened;
  peer.socket.write(Buffer.concat([binary(VLESS_RESPONSE), binary(Buffer.alloc(SIZE, 'x'))]));
  if (last) peer.socket.write(last);
  peer.socket.end();
};

describe('an application behind a WebSocket server that is no Weir', () => {
  for (const [what, last, clean] of [
    ['ends the connection without a Close frame', undefined, true],
    ['closes with 1000', close(1000), true],
    ['closes without a code', wholeFrame(Opcode.close, []), true],
    ['goes away in the middle (1001)', close(1001), false],
    ['restarts in the middle (1012)', close(1012), false],
    ['closes with an impossible code', close(0x3130), false],
    ['ends the connection within a frame', binary(Buffer.from('cut')).subarray(0, 3), false],
  ] as const) {
    test(`receives all before the end, which is ${clean ? 'clean' : 'a reset'}, when it ${what}`, async () => {
      await using server = await foreignServer(download(last));
      await using weir = await Weir.start(socksIn() + weirOut(WAY, server));
      const client = await socksConnect(weir.address('socks'), server.target);
      client.write('GET');
      const { data, clean: isClean } = await readAll(client);
      // A reset may overtake what the kernel has not delivered yet.
      if (clean) assert.ok(data.length >= SIZE, `${data.length} bytes`);
      assert.equal(isClean, clean);
      client.destroy();
    });
  }

  test('has the response to a request after which it half-closes', async () => {
    await using server = await foreignServer(async ({ socket, opened, closed }) => {
      let isOver = false;
      // As Xray and most libraries: the end of both sides.
      void closed.then(() => {
        isOver = true;
        socket.end(close(1000));
      });
      await opened;
      socket.write(binary(VLESS_RESPONSE));
      await new Promise((resolve) => setTimeout(resolve, 300));
      if (!isOver) socket.write(Buffer.concat([binary(Buffer.from('response')), close(1000)]));
    });
    await using weir = await Weir.start(socksIn() + weirOut(WAY, server));
    const client = await socksConnect(weir.address('socks'), server.target);
    client.end('request');
    const { data, clean } = await readAll(client);
    assert.deepEqual([String(data), clean], ['response', true]);
    client.destroy();
  });
});

/** A client that is no Weir, upgraded, which has asked for `origin` and sent `first`. */
async function foreignClient(weir: Weir, origin: Origin, first: string): Promise<Peer> {
  const port = portOf(weir.address('vless'));
  const socket = connect({ host: '127.0.0.1', port, allowHalfOpen: true });
  socket.write(
    `GET /tunnel HTTP/1.1\r\nHost: server.test\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n` +
      `Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AQIDBAUGBwgJCgsMDQ4PEA==\r\n\r\n`,
  );
  assert.match(await readHead(socket), /^HTTP\/1\.1 101 /);
  const request = Buffer.concat([
    Buffer.of(0),
    Buffer.from(ID.replaceAll('-', ''), 'hex'),
    Buffer.of(0, 1, origin.port >> 8, origin.port & 0xff, 1, 127, 0, 0, 1),
    Buffer.from(first),
  ]);
  socket.write(binary(request, KEY));
  return peerOf(socket, false);
}

describe('a destination behind a WebSocket client that is no Weir', () => {
  for (const [what, last, clean] of [
    ['ends the connection without a Close frame', undefined, true],
    ['closes with 1000', close(1000, KEY), true],
    ['goes away (1001)', close(1001, KEY), false],
  ] as const) {
    test(`receives all before the end, which is ${clean ? 'clean' : 'a reset'}, when it ${what}`, async () => {
      const received = Promise.withResolvers<{ data: Buffer; clean: boolean }>();
      await using origin = await tcpServer(async (socket) => {
        received.resolve(await readAll(socket));
        socket.end();
      });
      await using weir = await Weir.start(weirIn(WAY) + freedom());
      const { socket } = await foreignClient(weir, origin, 'PUT');
      socket.write(binary(Buffer.alloc(SIZE, 'x'), KEY));
      if (last) socket.write(last);
      socket.end();
      const { data, clean: isClean } = await received.promise;
      if (clean) assert.equal(data.length, SIZE + 3);
      assert.equal(isClean, clean);
      socket.destroy();
    });
  }

  test('hangs up on one that ignores its Close frame, after all that was sent', async () => {
    await using origin = await tcpServer(async (socket) => {
      await readUpTo(socket, 3);
      socket.end('response');
    });
    await using weir = await Weir.start(weirIn(WAY) + freedom());
    const { socket, opened, closed } = await foreignClient(weir, origin, 'GET');
    const ended = new Promise<string>((resolve) => {
      socket.once('end', () => resolve('FIN')).once('error', () => resolve('RST'));
    });
    await opened;
    await closed;
    assert.equal(await ended, 'FIN');
    socket.destroy();
  });
});
