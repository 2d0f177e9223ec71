/** A web server on a free port of this host, in place of the sites that the other examples visit. */
import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Origin extends AsyncDisposable {
  readonly server: Server;
  readonly port: number;
  readonly url: string;
}

export async function startOrigin(respond: RequestListener): Promise<Origin> {
  const server = createServer(respond).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    server,
    port,
    url: `http://127.0.0.1:${port}/`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
