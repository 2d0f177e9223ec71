/**
 * The global fetch through a Hysteria 2 server, without a port on this host. It needs the npm package undici.
 *
 *     node fetch-hysteria2.ts
 */
import { Weir } from 'weir-engine';
import { makeCertificate } from './certificate.ts';
import { startOrigin } from './origin.ts';

await using origin = await startOrigin((_, response) => response.end('hello'));

const certificate = makeCertificate();
await using server = await Weir.start({
  config: {
    inbound: [
      {
        tag: 'hy2',
        protocol: 'hysteria2',
        port: 0,
        settings: { password: 'secret', ...certificate },
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
        protocol: 'hysteria2',
        server: '127.0.0.1',
        port,
        settings: {
          password: 'secret',
          server_name: 'localhost',
          ca_file: certificate.cert_file,
        },
      },
    ],
  },
});

const dispatcher = weir.dispatcher({ outbound: 'tokyo' });
const response = await fetch(origin.url, { dispatcher });
console.log(response.status, await response.text());
for (const { outbound, host } of weir.connections().flows) console.log(`${host} by ${outbound}`);
