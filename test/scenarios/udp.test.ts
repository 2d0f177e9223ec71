import assert from 'node:assert/strict';
import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import test from 'node:test';
import { freedom, socksIn } from '../support/process/config.ts';
import { openDescriptors } from '../support/process/proc.ts';
import { roundTrip } from '../support/read.ts';
import { echoServer, udpEcho, udpServer } from '../support/peers/servers.ts';
import { socksConnect } from '../support/peers/socks-client.ts';
import { UdpAssociation } from '../support/peers/socks-udp.ts';
import { eventually } from '../support/wait.ts';
import { Weir } from '../support/process/weir.ts';

const CONFIG = socksIn() + freedom();

/** A query for the address of `name` (RFC 1035 §4.1). */
function dnsQuery(id: number, name: string): Buffer {
  const labels = name.split('.').map((label) => `${String.fromCharCode(label.length)}${label}`);
  const head = Buffer.from([id >> 8, id & 0xff, 0x01, 0x00, 0, 1, 0, 0, 0, 0, 0, 0]);
  return Buffer.concat([head, Buffer.from(`${labels.join('')}\0\0\x01\0\x01`, 'latin1')]);
}

/** The DNS answer 192.0.2.53 to any question. */
function dnsAnswer(query: Buffer): Buffer {
  const head = Buffer.from(query.subarray(0, 12));
  head[2] = 0x81;
  head[3] = 0x80;
  head[7] = 1;
  // A pointer to the name of the question, type A, class IN, a minute to live, four bytes.
  const record = Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 192, 0, 2, 53]);
  return Buffer.concat([head, query.subarray(12), record]);
}

test('a name is asked over UDP through SOCKS', async (t) => {
  await using dns = await udpServer(dnsAnswer);
  await using weir = await Weir.start(CONFIG);
  const hosts = [
    ['by address', '127.0.0.1'],
    ['by name', 'localhost'],
  ] as const;
  for (const [how, host] of hosts) {
    await t.test(`of a server given ${how}`, async () => {
      using association = await UdpAssociation.open(weir.address('socks'));
      const query = dnsQuery(0x1234, 'www.example.org');
      association.send({ host, port: dns.port }, query);
      const { from, data } = await association.receive();
      assert.deepEqual(data, dnsAnswer(query));
      assert.equal(from.port, dns.port);
    });
  }
});

test('one association serves many servers and keeps their replies apart', async () => {
  await using stack = new AsyncDisposableStack();
  const servers = await Promise.all(Array.from({ length: 20 }, () => udpEcho()));
  for (const server of servers) stack.use(server);
  await using weir = await Weir.start(CONFIG);
  using association = await UdpAssociation.open(weir.address('socks'));
  for (const server of servers) association.send(server.target, String(server.port));
  const seen = new Set<number>();
  while (seen.size < servers.length) {
    const { from, data } = await association.receive();
    assert.equal(String(data), String(from.port));
    seen.add(from.port);
  }
});

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

test('datagrams of every size up to what UDP carries come back as they were', async () => {
  await using echo = await udpEcho();
  await using weir = await Weir.start(CONFIG);
  using association = await UdpAssociation.open(weir.address('socks'));
  // 65,507 is the most of UDP over IPv4; the SOCKS header of an IPv4 address takes 10 of it.
  for (const size of [0, 1, 512, 1472, 9000, 65_497]) {
    const data = Buffer.alloc(size, size & 0xff);
    association.send(echo.target, data);
    assert.deepEqual((await association.receive()).data, data);
  }
});

test('malformed and fragmented datagrams are dropped and the association stays open', async () => {
  await using echo = await udpEcho();
  await using weir = await Weir.start(CONFIG);
  using association = await UdpAssociation.open(weir.address('socks'));
  const junk = [
    '',
    '00',
    '000000',
    '00000001',
    '0000000501',
    '00000003ff',
    '00000004aabb',
    'ffffffff',
  ];
  for (const hex of junk) association.sendRaw(Buffer.from(hex, 'hex'));
  // A fragment (RFC 1928 §7): Weir does not reassemble and must drop it.
  association.sendRaw(
    Buffer.from(`00000101 7f000001 ${hexPort(echo.port)} 78`.replaceAll(' ', ''), 'hex'),
  );
  association.send(echo.target, 'whole');
  assert.equal(String((await association.receive()).data), 'whole');
  assert.equal(echo.accepted(), 1);
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

const hexPort = (port: number): string => port.toString(16).padStart(4, '0');
