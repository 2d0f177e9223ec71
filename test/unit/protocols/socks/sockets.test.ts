import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { describe, test } from 'node:test';
import { systemClock } from '../../../../src/net/time/clock.ts';
import { SocketLink } from '../../../../src/net/sockets/node/socket-link.ts';
import {
  bytes,
  inbound,
  onLoopback,
  plainSettings,
  withAccounts,
} from '../../../support/protocols/socks/harness.ts';
import type { SocksInboundSettings } from '../../../../src/protocols/socks/settings.ts';

/** One connection over the kernel's TCP to an inbound; what it reads until its end. */
async function converse(
  settings: SocksInboundSettings,
  speak: (socket: Socket) => void,
): Promise<{ readonly heard: string; readonly error: Error | undefined }> {
  const { handler, session } = inbound(settings, { clock: systemClock });
  const server = createServer({ allowHalfOpen: true, pauseOnConnect: true }, (socket) => {
    const link = new SocketLink(socket);
    // What the engine does: the end of serving is the end of the carrier, whatever it ended with.
    const serving = handler.serve({ link, wire: link, ...onLoopback }, session);
    void Promise.allSettled([serving]).then(() => link.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  let error: Error | undefined;
  let heard = '';
  socket.setEncoding('hex');
  socket.on('error', (failure) => (error = failure));
  socket.on('data', (chunk) => (heard += String(chunk)));
  speak(socket);
  await once(socket, 'close');
  server.close();
  await once(server, 'close');
  return { heard, error };
}

describe('over kernel sockets', () => {
  test('a rejected client reads its reply although it had sent more than was read', async () => {
    const { heard, error } = await converse(withAccounts(['kim', 'sesame']), (socket) => {
      socket.write(bytes('05 01 00 05 01 00 01 c0000207 0050'));
      socket.write(Buffer.alloc(32_768));
    });
    assert.equal(heard, '05ff');
    assert.equal(error, undefined, 'no reset overtook the reply');
  });

  test('a stream comes back whole after its half-close', async () => {
    const payload = Buffer.alloc(300_000, 'weir');
    const { heard, error } = await converse(plainSettings, (socket) => {
      socket.write(bytes(`05 01 00 05 01 00 03 0b 'www.example' 0050`));
      socket.end(payload);
    });
    const replies = bytes('05 00 05 00 00 01 00000000 0000').toString('hex');
    assert.equal(heard.slice(0, replies.length), replies);
    assert.ok(heard.slice(replies.length) === payload.toString('hex'));
    assert.equal(error, undefined);
  });

  test('a client that resets in the middle ends its own connection only', async () => {
    const { heard } = await converse(plainSettings, (socket) => {
      socket.write(bytes('05 01 00'), () => socket.resetAndDestroy());
    });
    assert.ok(heard === '' || heard === '0500');
  });
});
