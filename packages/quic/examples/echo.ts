/**
 * A QUIC server that echoes every stream, and its client, on two UDP sockets of loopback.
 *
 *   node echo.js
 */
import { DEFAULT_SETTINGS, QuicEndpoint, type QuicStream } from '@weir/quic';
import {
  OpenSslClientTls,
  OpenSslServerTls,
  selfSigned,
  systemClock,
  SystemRandomSource,
  systemSockets,
  toEndpoint,
} from '@weir/quic/system';

const random = new SystemRandomSource();
const sockets = systemSockets();

async function bind(): Promise<QuicEndpoint> {
  const anyPort = toEndpoint('127.0.0.1', 0);
  if (!anyPort) throw new Error('not an IP address');
  return QuicEndpoint.bind(
    (options, handlers) => sockets.bindDatagrams(options, handlers),
    anyPort,
    { clock: systemClock, random },
  );
}

async function echo(stream: QuicStream): Promise<void> {
  for (let chunk = await stream.read(); chunk; chunk = await stream.read()) {
    await stream.write(chunk);
  }
  await stream.closeWrite();
}

/** The application protocol (ALPN): any name that both sides use. */
const protocols = ['echo'];

const { certificate, key } = selfSigned(['localhost'], 1, { random, now: Date.now() });

const server = await bind();
server.serve({
  tls: new OpenSslServerTls({ certificates: certificate, key, protocols }),
  connection: DEFAULT_SETTINGS,
  maxConnections: 10,
  onConnection: () => ({
    onStream: (stream) => void echo(stream).catch((error: unknown) => console.error(error)),
    onDatagram: () => undefined,
  }),
});

const client = await bind();
const address = toEndpoint(server.local.host, server.local.port);
if (!address) throw new Error('not an IP address');
const connection = client.dial(address, {
  tls: new OpenSslClientTls({ name: 'localhost', trusted: [certificate], protocols }),
  connection: DEFAULT_SETTINGS,
  handlers: { onStream: () => undefined, onDatagram: () => undefined },
});
await connection.established;
console.log(`connected to ${server.local.host}:${server.local.port} over ${sockets.kind} sockets`);

const stream = await connection.openStream('bidirectional');
await stream.write(Buffer.from('hello over QUIC'));
await stream.closeWrite();
let response = '';
for (let chunk = await stream.read(); chunk; chunk = await stream.read()) {
  response += Buffer.from(chunk).toString();
}
console.log(`echoed: ${response}`);

connection.close(0);
client.close(0);
server.close(0);
await Promise.all([client.closed, server.closed]);
