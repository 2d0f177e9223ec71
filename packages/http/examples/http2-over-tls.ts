/**
 * HTTP/2 over TLS on loopback: a server that responds with the path, and a client that requests it.
 *
 *   node http2-over-tls.js
 */
import { once } from 'node:events';
import { type AddressInfo, connect as connectTcp } from 'node:net';
import { connect as connectTls, createServer } from 'node:tls';
import { type HttpField, valueOf } from '@weir/http/fields';
import { Http2Driver, type Http2Stream, type StreamHandler } from '@weir/http/http2';
import { selfSigned, SocketLink, systemClock, SystemRandomSource } from '@weir/http/system';

const OPTIONS = { settings: { enablePush: false }, connectionWindow: 1 << 20 };

/** A handler of a stream that cares for nothing; users replace what they need. */
const IDLE: StreamHandler = {
  onResponse: () => undefined,
  onTrailers: () => undefined,
  onReadable: () => undefined,
  onWritable: () => undefined,
  onEndSent: () => undefined,
  onAbort: () => undefined,
};

function answer(stream: Http2Stream, fields: readonly HttpField[]): void {
  stream.handler = IDLE;
  stream.respond([{ name: ':status', value: '200' }], false);
  stream.push(Buffer.from(`you asked for ${valueOf(fields, ':path')}`), false);
  stream.end();
}

/** Sends a request. Returns its status and its body. */
function ask(driver: Http2Driver, path: string): Promise<{ status: number; body: string }> {
  const stream = driver.connection.request(
    [
      { name: ':method', value: 'GET' },
      { name: ':scheme', value: 'https' },
      { name: ':authority', value: 'localhost' },
      { name: ':path', value: path },
    ],
    true,
  );
  const { promise, resolve, reject } = Promise.withResolvers<{ status: number; body: string }>();
  if (!stream) throw new Error('the server accepts no more requests');
  let status = 0;
  let body = '';
  stream.handler = {
    ...IDLE,
    onResponse: (code) => void (status = code),
    onReadable: () => {
      for (const piece of stream.take(stream.readable)) body += Buffer.from(piece).toString();
      if (stream.remoteEnded) resolve({ status, body });
    },
    onAbort: ({ by, code }) => reject(new Error(`the stream was reset by ${by} with ${code}`)),
  };
  return promise;
}

const { certificate, key } = selfSigned(['localhost'], 1, {
  random: new SystemRandomSource(),
  now: Date.now(),
});

const server = createServer({
  cert: certificate,
  key,
  ALPNProtocols: ['h2'],
  allowHalfOpen: true, // half-close is part of the contract of links
});
server.on('secureConnection', (socket) => {
  const options = { ...OPTIONS, role: 'server' } as const;
  new Http2Driver(new SocketLink(socket), systemClock, options, {
    onRequest: answer,
    onEnd: () => undefined,
  }).start();
});
server.listen(0, '127.0.0.1');
await once(server, 'listening');

const { port } = server.address() as AddressInfo;
const raw = connectTcp({ host: '127.0.0.1', port, allowHalfOpen: true });
const socket = connectTls({
  socket: raw,
  servername: 'localhost',
  ca: certificate,
  ALPNProtocols: ['h2'],
});
await once(socket, 'secureConnect');
console.log(`connected: ${socket.getProtocol()}, ${socket.alpnProtocol}`);

const { promise: ended, resolve: onEnd } = Promise.withResolvers<Error | undefined>();
const driver = new Http2Driver(
  new SocketLink(socket, raw),
  systemClock,
  { ...OPTIONS, role: 'client' },
  { onEnd },
);
driver.start();
for (const path of ['/first', '/second']) {
  const { status, body } = await ask(driver, path);
  console.log(`${status}: ${body}`);
}
driver.close();
await ended;
server.close();
