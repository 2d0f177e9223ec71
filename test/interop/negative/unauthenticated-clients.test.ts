import assert from 'node:assert/strict';
import test from 'node:test';
import type { Address } from '../../support/data/address.ts';
import { cellAt, COLUMNS, impossible, missing } from '../../support/matrix/cell.ts';
import { readAll, roundTrip } from '../../support/read.ts';
import { echoServer, udpEcho, type Origin } from '../../support/peers/servers.ts';
import { socksConnect, SocksRefused } from '../../support/peers/socks-client.ts';
import { UdpAssociation } from '../../support/peers/socks-udp.ts';
import { carriesDatagrams, TLS, wayTitle, type Way } from '../../support/ways/way.ts';

const MODERN = '2022-blake3-aes-128-gcm';

/** A server's way, and how the way of a client that it must reject differs. */
const PAIRS: readonly (readonly [wrong: string, way: Way, more: Partial<Way>])[] = [
  ['a wrong password', { protocol: 'socks', login: true }, { credentials: 'wrong' }],
  ['a wrong password', { protocol: 'http', login: true }, { credentials: 'wrong' }],
  ['a wrong password', { protocol: 'trojan' }, { credentials: 'wrong' }],
  ['a wrong password', { protocol: 'trojan', carrier: TLS }, { credentials: 'wrong' }],
  ['a wrong user', { protocol: 'vless' }, { credentials: 'wrong' }],
  ['a wrong user', { protocol: 'vmess', cipher: 'aes-128-gcm' }, { credentials: 'wrong' }],
  [
    'a wrong password',
    { protocol: 'shadowsocks', cipher: 'aes-256-gcm' },
    { credentials: 'wrong' },
  ],
  [
    'a wrong user',
    { protocol: 'shadowsocks', cipher: 'aes-256-gcm', users: true },
    { credentials: 'wrong' },
  ],
  [
    'a wrong method',
    { protocol: 'shadowsocks', cipher: 'aes-256-gcm' },
    { cipher: 'chacha20-ietf-poly1305' },
  ],
  ['a wrong key', { protocol: 'shadowsocks', cipher: MODERN }, { credentials: 'wrong' }],
  [
    'a wrong key',
    { protocol: 'shadowsocks', cipher: MODERN, users: true },
    { credentials: 'wrong' },
  ],
  [
    'a wrong user',
    { protocol: 'shadowsocks', cipher: MODERN, users: true },
    { credentials: 'unknown user' },
  ],
  [
    'a wrong method',
    { protocol: 'shadowsocks', cipher: '2022-blake3-aes-256-gcm' },
    { cipher: '2022-blake3-chacha20-poly1305' },
  ],
];

for (const [wrong, way, more] of PAIRS) {
  for (const column of COLUMNS) {
    const cell = cellAt(way, column);
    if (impossible(cell) !== undefined) continue;
    const title = `${wayTitle(way)}, ${column.client} to ${column.server}: ${wrong} reaches nothing`;
    test(title, { skip: missing(cell) }, async () => {
      await using server = await cell.server.server(way);
      await using accepted = await cell.client.client(way, server.address);
      await using rejected = await cell.client.client({ ...way, ...more }, server.address);
      await using echo = await echoServer();
      await refused(rejected.address, echo);
      await served(accepted.address, echo);
      assert.equal(echo.accepted(), 1);
      if (!carriesDatagrams(way)) return;
      await using udp = await udpEcho();
      await sentInVain(rejected.address, udp);
      using association = await UdpAssociation.open(accepted.address);
      association.send(udp.target, 'accepted');
      assert.equal(String((await association.receive()).data), 'accepted');
      assert.equal(udp.accepted(), 1);
    });
  }
}

/** A connection that carries no data, whether it is refused or granted first. */
async function refused(socks: Address, echo: Origin): Promise<void> {
  const client = await socksConnect(socks, echo.target).catch((error: unknown) => {
    if (error instanceof SocksRefused) return undefined;
    // Some reset the connection where others send a reply.
    assert.match(String(error), /the peer closed before/);
    return undefined;
  });
  if (!client) return;
  // Some read on for a while before they close.
  client.end(Buffer.alloc(8192));
  assert.equal((await readAll(client)).data.length, 0);
  client.destroy();
}

async function served(socks: Address, echo: Origin): Promise<void> {
  const client = await socksConnect(socks, echo.target);
  assert.equal(String(await roundTrip(client, 'accepted')), 'accepted');
  client.destroy();
}

/** A datagram that is lost, unless the association itself is refused. */
async function sentInVain(socks: Address, udp: Origin): Promise<void> {
  try {
    using association = await UdpAssociation.open(socks);
    association.send(udp.target, 'rejected');
  } catch (error) {
    assert.ok(error instanceof SocksRefused || /the peer closed before/.test(String(error)));
  }
}
