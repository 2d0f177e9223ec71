import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** How a provider answers a request. */
export type Answer = (response: ServerResponse, request: IncomingMessage) => void;

/** A web server on this machine whose answer is a test's. */
export interface Provider extends AsyncDisposable {
  readonly url: string;
  answer: Answer;
}

export async function startProvider(answer: Answer): Promise<Provider> {
  const server = createServer((request, response) => {
    response.on('error', () => undefined);
    provider.answer(response, request);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const provider: Provider = {
    url: `http://127.0.0.1:${port}/sub?token=hidden-secret`,
    answer,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
  return provider;
}

/** Sends as long as the client reads. */
export const endless =
  (chunk: Buffer): Answer =>
  (response) => {
    const more = (): void => {
      while (!response.destroyed && response.write(chunk));
    };
    response.on('drain', more);
    more();
  };
