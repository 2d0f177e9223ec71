import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import test from 'node:test';
import { portOf } from '../support/data/address.ts';
import { startPeer, without, type Peer } from '../support/programs/peers.ts';
import { roundTrip } from '../support/read.ts';
import { echoServer } from '../support/peers/servers.ts';
import { socksConnect } from '../support/peers/socks-client.ts';
import { PROGRAMS } from '../support/ways/programs.ts';
import type { Way } from '../support/ways/way.ts';

/** Requests that nginx serves on a connection before it sends a GOAWAY; its own default is 1,000. */
const KEPT_REQUESTS = 20;
/** Clients at once, some of whose calls cross that GOAWAY. */
const CLIENTS = 16;
const ROUNDS = 25;

/** nginx in front of a server of gRPC tunnels, without TLS. */
const startNginx = (upstreamPort: number): Promise<Peer> =>
  startPeer('nginx', 1, async ([port], folder) => {
    const file = join(folder, 'nginx.conf');
    const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
      (name) => `${name}_temp_path ${join(folder, name)};`,
    );
    await writeFile(
      file,
      `daemon off; master_process off; pid ${join(folder, 'nginx.pid')};
       error_log stderr; events {}
       http {
         access_log off; keepalive_requests ${KEPT_REQUESTS}; ${temporary.join(' ')}
         server {
           listen 127.0.0.1:${port} http2; client_max_body_size 0;
           location /Tunnel/ { grpc_pass grpc://127.0.0.1:${upstreamPort}; }
         }
       }`,
    );
    return ['-e', 'stderr', '-p', folder, '-c', file];
  });

test(
  'calls that nginx refuses after its GOAWAY are repeated, and no connection is lost',
  { skip: without('nginx') },
  async () => {
    const way: Way = { protocol: 'vless', carrier: { network: 'grpc' } };
    const { weir } = PROGRAMS;
    await using echo = await echoServer();
    await using server = await weir.server(way);
    await using nginx = await startNginx(portOf(server.address));
    await using client = await weir.client(way, nginx.address);
    const one = async (text: string): Promise<void> => {
      const socket = await socksConnect(client.address, echo.target);
      try {
        assert.equal(String(await roundTrip(socket, text)), text);
      } finally {
        socket.destroy();
      }
    };
    for (let round = 0; round < ROUNDS; round++) {
      await Promise.all(
        Array.from({ length: CLIENTS }, (_, i) => one(`round ${round}, client ${i}`)),
      );
    }
  },
);
