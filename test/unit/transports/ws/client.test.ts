import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { test } from 'node:test';
import { ManualClock } from '../../../support/manual-clock.ts';
import { SeededRandom } from '../../../support/simnet/seeded-random.ts';
import { SocketLink } from '../../../../src/net/node/socket-link.ts';
import { WsClient } from '../../../../src/transports/ws/client.ts';
import { acceptKey } from '../../../../src/transports/ws/handshake.ts';

test('the key of a handshake and the masking keys come from the random source', async () => {
  const expected = new SeededRandom(7);
  const key = expected.bytes(16).toString('base64');
  const maskingKeys = [expected.bytes(4), expected.bytes(4)];
  const server = createServer({ allowHalfOpen: true });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  assert.ok(address !== null && typeof address === 'object');
  const endpoint = { host: '127.0.0.1', port: address.port };
  const socket = connect({ ...endpoint, allowHalfOpen: true });
  const [[accepted]] = await Promise.all([once(server, 'connection'), once(socket, 'connect')]);
  const spec = { kind: 'ws', path: '/', host: 'server.test', earlyData: 0 } as const;
  const client = new WsClient(spec, endpoint, new ManualClock(), new SeededRandom(7));
  const opening = client.open(new SocketLink(socket), new AbortController().signal);
  let received = '';
  for await (const chunk of accepted) {
    received += chunk.toString('latin1');
    if (received.endsWith('\r\n\r\n')) {
      assert.match(received, new RegExp(`Sec-WebSocket-Key: ${RegExp.escape(key)}\r\n`));
      received = '';
      const lines = ['101 Switching Protocols', 'Upgrade: websocket', 'Connection: Upgrade'];
      accepted.write(
        `HTTP/1.1 ${lines.join('\r\n')}\r\nSec-WebSocket-Accept: ${acceptKey(key)}\r\n\r\n`,
      );
      const link = await opening;
      await link.write(Uint8Array.of(0));
      await link.write(Uint8Array.of(0));
    } else if (received.length >= 14) {
      break;
    }
  }
  // Frames of one zero byte: a header of two bytes, the masking key, and its first byte.
  const frame = (bytes: Buffer): string =>
    `\x82\x81${bytes.toString('latin1')}${String.fromCharCode(bytes[0] ?? 0)}`;
  assert.equal(received, maskingKeys.map(frame).join(''));
  accepted.destroy();
  server.close();
});
