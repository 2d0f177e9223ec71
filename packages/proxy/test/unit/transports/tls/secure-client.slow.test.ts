import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { test, type TestContext } from 'node:test';
import { createServer, type TLSSocket } from 'node:tls';
import type { WireCounter } from '@weir/io/links';
import { systemClock } from '@weir/io/time';
import {
  secureClient,
  type SecureConnection,
} from '../../../../src/transports/tls/secure-client.ts';
import { TLS_CLIENT, TLS_SERVER } from '../../../../../../test/support/links/carriers.ts';

const never = new AbortController().signal;

/** A server that chooses the first of `supported` that a client offers, and greets it. */
async function serve(t: TestContext, supported: readonly string[]) {
  const resumed: boolean[] = [];
  const server = createServer(
    {
      cert: TLS_SERVER.certificates,
      key: TLS_SERVER.key,
      ...(supported.length > 0 ? { ALPNProtocols: [...supported] } : {}),
    },
    (socket: TLSSocket) => {
      socket.on('error', () => undefined);
      resumed.push(socket.isSessionReused());
      socket.end('hello');
    },
  );
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  const { port } = server.address() as AddressInfo;
  const where = { host: '127.0.0.1', port };
  const connect = async (
    offered: readonly string[],
    client = secureClient(TLS_CLIENT, offered, systemClock),
    onWire?: (wire: WireCounter) => void,
  ): Promise<SecureConnection> => {
    const below = await client.below.connect(where, { signal: never });
    onWire?.('wire' in below ? below.wire : below);
    return client.secure(below, where, never);
  };
  return { connect, resumed };
}

for (const [offered, supported, chosen] of [
  [['h2', 'http/1.1'], ['h2'], 'h2'],
  [['h2', 'http/1.1'], ['http/1.1'], 'http/1.1'],
  [['h2', 'http/1.1'], [], undefined],
  [[], ['h2'], undefined],
] as const) {
  test(`a client that offers [${offered.join()}] to a server with [${supported.join()}] has ${chosen}`, async (t) => {
    const { connect } = await serve(t, supported);
    const { carrier, alpn } = await connect(offered);
    assert.equal(alpn, chosen);
    assert.equal(String(await carrier.link.read()), 'hello');
    carrier.link.destroy();
  });
}

test('the byte counter of the connection below counts the handshake', async (t) => {
  const { connect } = await serve(t, []);
  const wires: WireCounter[] = [];
  const before: number[] = [];
  const { carrier } = await connect([], undefined, (wire) => {
    wires.push(wire);
    before.push(wire.bytesRead);
  });
  assert.deepEqual(before, [0]);
  assert.ok((wires[0]?.bytesRead ?? 0) > 500);
  carrier.link.destroy();
});

test('a second connection of a client resumes the session of the first', async (t) => {
  const { connect, resumed } = await serve(t, []);
  const client = secureClient(TLS_CLIENT, [], systemClock);
  for (let i = 0; i < 2; i++) {
    const { carrier } = await connect([], client);
    while ((await carrier.link.read()) !== undefined);
    carrier.link.destroy();
  }
  assert.deepEqual(resumed, [false, true]);
});
