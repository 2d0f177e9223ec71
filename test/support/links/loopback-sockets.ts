import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';

/** Both ends of a connection over loopback, of which the second was accepted. */
export async function loopbackSockets(): Promise<[Socket, Socket]> {
  const listener = createServer({ allowHalfOpen: true, pauseOnConnect: true });
  listener.listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const address = listener.address();
  assert.ok(address !== null && typeof address === 'object');
  const near = connect({ port: address.port, host: '127.0.0.1', allowHalfOpen: true });
  const [far] = (await once(listener, 'connection')) as [Socket];
  listener.close();
  return [near, far];
}
