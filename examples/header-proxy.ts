/**
 * A proxy for a company: it adds a header to each request that it forwards, and reaches the sites by an outbound.
 *
 *     node header-proxy.ts
 */
import { once } from 'node:events';
import { createServer, get, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { Weir } from 'weir-engine';
import { startOrigin } from './origin.ts';

await using origin = await startOrigin(({ headers }, response) => {
  response.end(`department: ${String(headers['x-department'])}`);
});

await using weir = await Weir.start({
  config: { outbound: [{ tag: 'office', protocol: 'freedom' }] },
});
const agents = weir.agent({ outbound: 'office' });

const proxy = createServer((incoming, response) => {
  const { method, url = '', headers } = incoming;
  if (!URL.canParse(url)) return void response.writeHead(400).end('this is a proxy\n');
  const forwarded = request(url, {
    method,
    headers: { ...headers, 'x-department': 'research' },
    agent: agents.http,
  });
  forwarded.on('response', (answer) => {
    response.writeHead(answer.statusCode ?? 502, answer.headers);
    pipeline(answer, response).catch(() => response.destroy());
  });
  forwarded.on('error', ({ message }) => response.writeHead(502).end(`${message}\n`));
  return void incoming.pipe(forwarded);
});

// What is encrypted passes as it is.
proxy.on('connect', (incoming, client) => {
  const { hostname: host, port } = new URL(`http://${incoming.url}`);
  weir.connect({ host, port: Number(port || 80), outbound: 'office' }).then(
    (destination) => {
      client.write('HTTP/1.1 200 Connection established\r\n\r\n');
      pipeline(client, destination).catch(() => client.destroy());
      pipeline(destination, client).catch(() => destination.destroy());
    },
    () => client.end('HTTP/1.1 502 Bad Gateway\r\n\r\n'),
  );
});
proxy.listen(0, '127.0.0.1');
await once(proxy, 'listening');

const { port } = proxy.address() as AddressInfo;
const [response] = await once(get({ port, path: origin.url }), 'response');
console.log(await text(response));
proxy.close();
proxy.closeAllConnections();
