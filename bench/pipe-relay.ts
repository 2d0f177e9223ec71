import { createSocket, type Socket as Datagrams } from 'node:dgram';
import { connect, createServer } from 'node:net';

/**
 * The least that a relay in Node can be: every connection is piped to one fixed target, every
 * datagram forwarded to it. Weir is compared with it.
 *
 * Arguments: the target's port, the port to listen on.
 */
const [target = 0, port = 0] = process.argv.slice(2).map(Number);

createServer({ allowHalfOpen: true, noDelay: true }, (a) => {
  const b = connect({ port: target, host: '127.0.0.1', allowHalfOpen: true, noDelay: true });
  a.on('error', () => b.destroy());
  b.on('error', () => a.destroy());
  a.pipe(b);
  b.pipe(a);
}).listen({ port, host: '127.0.0.1', backlog: 4096 });

const buffers = { recvBufferSize: 4 << 20, sendBufferSize: 4 << 20 };
const out = new Map<number, Datagrams>();
const front = createSocket({ type: 'udp4', ...buffers });
front.on('message', (message, from) => {
  let back = out.get(from.port);
  if (!back) {
    back = createSocket({ type: 'udp4', ...buffers });
    back.on('message', (reply) => front.send(reply, from.port, from.address));
    out.set(from.port, back);
  }
  back.send(message, target, '127.0.0.1');
});
front.bind(port, '127.0.0.1');
