import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { systemClock } from '@weir/io/time';
import { SystemRandomSource } from '@weir/base/random';
import { SocketLink } from '@weir/io/sockets';
import { NodeClient } from '../../src/transports/tls/node-client.ts';
import { WsClient } from '../../src/transports/ws/client.ts';
import { WsServer } from '../../src/transports/ws/server.ts';
import { TLS_CLIENT, TLS_SERVER } from '../../../../test/support/links/carriers.ts';
import { byteLinkConformance, type LinkEnds } from '../../../io/test/conformance/byte-link.ts';
import { preferHttp1 } from '../../src/transports/acceptor.ts';
import { NodeServer } from '../../src/transports/tls/secure-server.ts';

/** A WebSocket over the TLS and the sockets of Node, which serve where the kernel's cannot be used. */
async function ends(): Promise<LinkEnds> {
  const listener = createServer({ allowHalfOpen: true, pauseOnConnect: true });
  listener.listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const address = listener.address();
  if (address === null || typeof address === 'string') throw new Error('no TCP port');
  const where = { host: '127.0.0.1', port: address.port };
  const near = connect({ ...where, allowHalfOpen: true });
  const [[far]] = await Promise.all([once(listener, 'connection'), once(near, 'connect')]);
  listener.close();
  const server = async (raw: Socket) => {
    const socket = await new NodeServer(TLS_SERVER, preferHttp1, systemClock).accept(raw);
    const spec = { kind: 'ws', path: '/', host: undefined } as const;
    return new WsServer(spec, systemClock).upgrade(new SocketLink(socket, raw));
  };
  const client = async (raw: Socket) => {
    const { signal } = new AbortController();
    const tls = new NodeClient(TLS_CLIENT, ['http/1.1'], systemClock);
    const socket = await tls.connect(raw, where, signal);
    const spec = { kind: 'ws', path: '/', host: 'server.test', earlyData: 0 } as const;
    const opener = new WsClient(spec, where, systemClock, new SystemRandomSource());
    return opener.open(new SocketLink(socket, raw), signal);
  };
  const [right, left] = await Promise.all([server(far as Socket), client(near)]);
  if (!right) throw new Error('not upgraded');
  return { left, right };
}

byteLinkConformance('ws over TLS by Node, seen from the dialling end,', ends);
byteLinkConformance('ws over TLS by Node, seen from the accepting end,', async () => {
  const { left, right } = await ends();
  return { left: right, right: left };
});
