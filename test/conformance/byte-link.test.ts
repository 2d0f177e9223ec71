import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { linkPair } from '../../src/net/memory-link.ts';
import { SocketLink } from '../../src/net/socket-link.ts';
import { byteLinkConformance, type LinkEnds } from './byte-link.ts';

byteLinkConformance('a memory link', () => {
  const [left, right] = linkPair();
  return Promise.resolve({ left, right });
});

byteLinkConformance('a TCP socket link', () => socketEnds({ host: '127.0.0.1', port: 0 }));

byteLinkConformance('a unix socket link', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'weir-link-'));
  const ends = await socketEnds({ path: join(folder, 's') });
  return {
    ...ends,
    dispose: async () => {
      await ends.dispose?.();
      await rm(folder, { recursive: true });
    },
  };
});

async function socketEnds(
  where: { host: string; port: number } | { path: string },
): Promise<LinkEnds> {
  const server = createServer({ allowHalfOpen: true, pauseOnConnect: true });
  server.listen(where);
  await once(server, 'listening');
  const address = server.address();
  const accepted = once(server, 'connection') as Promise<[Socket]>;
  const client =
    typeof address === 'object' && address !== null
      ? connect({ host: address.address, port: address.port, allowHalfOpen: true })
      : connect({ path: address ?? '', allowHalfOpen: true });
  const [[socket]] = await Promise.all([accepted, once(client, 'connect')]);
  return {
    left: new SocketLink(client),
    right: new SocketLink(socket),
    dispose: () => {
      server.close();
    },
  };
}
