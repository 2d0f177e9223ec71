/**
 * A WebSocket through a Trojan server, by the npm package ws.
 *
 *     node websocket-trojan.ts
 */
import { once } from 'node:events';
import { WebSocket, WebSocketServer } from 'ws';
import { Weir } from 'weir-engine';
import { makeCertificate } from './certificate.ts';
import { startOrigin } from './origin.ts';

await using origin = await startOrigin((_, response) => response.end());
new WebSocketServer({ server: origin.server }).on('connection', (peer) => {
  peer.on('message', (data: Buffer) => peer.send(`you said: ${data.toString()}`));
});

const certificate = makeCertificate();
await using server = await Weir.start({
  config: {
    inbound: [
      {
        tag: 'trojan',
        protocol: 'trojan',
        port: 0,
        settings: { users: [{ password: 'secret' }] },
        stream: { network: 'tls', tls: certificate },
      },
    ],
    outbound: [{ tag: 'direct', protocol: 'freedom' }],
  },
});
const port = server.listeners()[0]?.port ?? 0;

await using weir = await Weir.start({
  config: {
    outbound: [
      {
        tag: 'tokyo',
        protocol: 'trojan',
        server: '127.0.0.1',
        port,
        settings: { password: 'secret' },
        stream: {
          network: 'tls',
          tls: { server_name: 'localhost', ca_file: certificate.cert_file },
        },
      },
    ],
  },
});

const agents = weir.agent({ outbound: 'tokyo' });
// For `wss:` it is `agents.https`.
const socket = new WebSocket(`ws://127.0.0.1:${origin.port}/`, { agent: agents.http });
await once(socket, 'open');
socket.send('hello');
const [data] = await once(socket, 'message');
console.log(String(data));
socket.close();
await once(socket, 'close');
