import assert from 'node:assert/strict';
import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import test from 'node:test';
import { freedom, socksIn } from '../support/process/config.ts';
import { openDescriptors } from '../support/process/proc.ts';
import { roundTrip } from '../support/read.ts';
import { echoServer, udpEcho } from '../support/peers/servers.ts';
import { socksConnect } from '../support/peers/socks-client.ts';
import { UdpAssociation } from '../support/peers/socks-udp.ts';
import { eventually } from '../support/wait.ts';
import { Weir } from '../support/process/weir.ts';

const CONFIG = socksIn() + freedom();

test('a datagram of a third party is delivered: the association is full-cone', async () => {
  using third = await datagrams();
  using server = await datagrams();
  // The server sends nothing itself: a third party sends to the source of its datagram.
  server.socket.on('message', (_message, from) => {
    third.socket.send('surprise', from.port, from.address);
  });
  await using weir = await Weir.start(CONFIG);
  using association = await UdpAssociation.open(weir.address('socks'));
  association.send({ host: '127.0.0.1', port: server.port }, 'hello');
  const { from, data } = await association.receive();
  assert.equal(String(data), 'surprise');
  assert.deepEqual([from.host, from.port], ['127.0.0.1', third.port]);
});

test('an association ends with its connection and releases its sockets', async () => {
  await using echo = await udpEcho();
  await using tcp = await echoServer();
  await using weir = await Weir.start(CONFIG);
  const socks = weir.address('socks');
  const control = await socksConnect(socks, tcp.target);
  await roundTrip(control, 'warm');
  {
    using warm = await UdpAssociation.open(socks);
    warm.send(echo.target, 'warm');
    await warm.receive();
  }
  control.destroy();
  const settled = await eventually('descriptors to settle', () => {
    const now = openDescriptors(weir.pid);
    return now > 0 ? now : false;
  });
  const associations = await Promise.all(
    Array.from({ length: 50 }, () => UdpAssociation.open(socks)),
  );
  for (const association of associations) {
    association.send(echo.target, 'x');
    await association.receive();
  }
  assert.ok(openDescriptors(weir.pid) >= settled + 50);
  for (const association of associations) association[Symbol.dispose]();
  await eventually(
    () => `descriptors back to ${settled}, now ${openDescriptors(weir.pid)}`,
    () => openDescriptors(weir.pid) <= settled,
  );
});

/** A bare socket on loopback. */
async function datagrams(): Promise<Disposable & { socket: Socket; port: number }> {
  const socket = createSocket('udp4');
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  return { socket, port: socket.address().port, [Symbol.dispose]: () => void socket.close() };
}
