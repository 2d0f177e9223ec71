import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { createSocket } from 'node:dgram';
import test from 'node:test';
import { open, portOf, type Address } from '../../support/data/address.ts';
import { cellAt, COLUMNS, impossible, missing } from '../../support/matrix/cell.ts';
import { readAll, roundTrip } from '../../support/read.ts';
import { recordingRelay } from '../../support/peers/recording-relay.ts';
import { echoServer, udpEcho } from '../../support/peers/servers.ts';
import { socksConnect } from '../../support/peers/socks-client.ts';
import { UdpAssociation } from '../../support/peers/socks-udp.ts';
import { isModern, wayTitle, type Way } from '../../support/ways/way.ts';

const shadowsocks = (cipher: string, users = false): Way => ({
  protocol: 'shadowsocks',
  cipher,
  users,
});

const WAYS: readonly Way[] = [
  { protocol: 'vmess', cipher: 'aes-128-gcm' },
  { protocol: 'vmess', cipher: 'chacha20-poly1305' },
  shadowsocks('aes-256-gcm'),
  shadowsocks('chacha20-ietf-poly1305'),
  shadowsocks('2022-blake3-aes-128-gcm'),
  shadowsocks('2022-blake3-aes-256-gcm', true),
  shadowsocks('2022-blake3-chacha20-poly1305'),
];

for (const way of WAYS) {
  for (const column of COLUMNS.filter(({ server }) => server === 'weir')) {
    const cell = cellAt(way, column);
    if (impossible(cell) !== undefined) continue;
    const title = `${wayTitle(way)}, ${column.client} to ${column.server}`;
    const skip = missing(cell);

    test(`${title}: a replayed connection is treated as garbage is`, { skip }, async () => {
      await using server = await cell.server.server(way);
      await using relay = await recordingRelay(server.address);
      await using client = await cell.client.client(way, relay.address);
      await using echo = await echoServer();
      await converse(client.address, echo.target);
      const [recorded = Buffer.alloc(0)] = relay.connections();
      assert.ok(recorded.length > 0);

      const replayed = await answerTo(server.address, recorded);
      const garbage = await answerTo(server.address, randomBytes(recorded.length));
      assert.deepEqual(replayed, garbage);
      assert.equal(replayed.data.length, 0);
      // A new connection is served as before, and only that one.
      await converse(client.address, echo.target);
      assert.equal(echo.accepted(), 2);
    });

    // The legacy edition cannot recognize a replayed datagram.
    if (!isModern(way)) continue;
    test(`${title}: a replayed datagram is dropped`, { skip }, async () => {
      await using server = await cell.server.server(way);
      await using relay = await recordingRelay(server.address);
      await using client = await cell.client.client(way, relay.address);
      await using udp = await udpEcho();
      using association = await UdpAssociation.open(client.address);
      association.send(udp.target, 'once');
      await association.receive();
      const again = createSocket('udp4');
      for (const datagram of relay.datagrams()) again.send(datagram, portOf(server.address));
      association.send(udp.target, 'another');
      assert.equal(String((await association.receive()).data), 'another');
      assert.equal(udp.accepted(), 2);
      again.close();
    });
  }
}

async function converse(socks: Address, target: { host: string; port: number }): Promise<void> {
  const socket = await socksConnect(socks, target);
  assert.equal(String(await roundTrip(socket, 'hello')), 'hello');
  socket.destroy();
}

/** What a server sends in reply to bytes that end, and how it closes. */
async function answerTo(
  server: Address,
  bytes: Buffer,
): Promise<{ readonly data: Buffer; readonly clean: boolean }> {
  const socket = await open(server);
  socket.end(bytes);
  const reply = await readAll(socket);
  socket.destroy();
  return reply;
}
