/**
 * A chain of two outbounds in code: what is dialled by the second reaches its server through the first.
 *
 *     node chain.ts
 */
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { get } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { text } from 'node:stream/consumers';
import { Weir } from 'weir-engine';
import { startOrigin } from './origin.ts';

await using origin = await startOrigin((_, response) => response.end('hello'));

/** A proxy server somewhere, which says whom it connects. */
const startServer = (tag: string): Promise<Weir> =>
  Weir.start({
    config: {
      inbound: [{ tag, protocol: 'socks', port: 0 }],
      outbound: [{ tag: 'direct', protocol: 'freedom' }],
    },
    route: ({ inbound, port }) => {
      console.log(`${inbound} connects to ${names.get(port)}`);
      return undefined;
    },
  });
const names = new Map([[origin.port, 'the origin']]);
await using entry = await startServer('entry');
await using exit = await startServer('exit');
const portOf = (server: Weir): number => server.listeners()[0]?.port ?? 0;
names.set(portOf(exit), 'exit');

// The second outbound dials this port, whose connections go on through the first one.
const hop = createServer({ allowHalfOpen: true }, (client) => {
  const forward = async (): Promise<void> => {
    const next = await weir.connect({ host: '127.0.0.1', port: portOf(exit), outbound: 'entry' });
    await Promise.all([pipeline(client, next), pipeline(next, client)]);
  };
  forward().catch((error: unknown) => client.destroy(error instanceof Error ? error : undefined));
}).listen(0, '127.0.0.1');
await once(hop, 'listening');

await using weir = await Weir.start({
  config: {
    outbound: [
      { tag: 'entry', protocol: 'socks', server: '127.0.0.1', port: portOf(entry) },
      {
        tag: 'exit',
        protocol: 'socks',
        server: '127.0.0.1',
        port: (hop.address() as AddressInfo).port,
      },
    ],
  },
});

const agents = weir.agent({ outbound: 'exit', keepAlive: false });
const [response] = await once(get(origin.url, { agent: agents.http }), 'response');
console.log(await text(response));
hop.close();
