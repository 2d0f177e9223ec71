import assert from 'node:assert/strict';
import test from 'node:test';
import type { Address } from '../../support/data/address.ts';
import { cellAt, cellTitle, COLUMNS, impossible, missing } from '../../support/matrix/cell.ts';
import { SharedWeirs } from '../../support/matrix/shared-weirs.ts';
import { readAll, roundTrip } from '../../support/read.ts';
import { echoServer, udpEcho, type Origin } from '../../support/peers/servers.ts';
import { socksConnect, SocksRefused } from '../../support/peers/socks-client.ts';
import { UdpAssociation } from '../../support/peers/socks-udp.ts';
import { carriesDatagrams, TLS, type Way } from '../../support/ways/way.ts';
import { shared } from '../../support/shared.ts';

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

const CASES = PAIRS.flatMap(([wrong, way, more]) =>
  COLUMNS.map((column) => ({ wrong, cell: cellAt(way, column), other: { ...way, ...more } })),
).filter(({ cell }) => impossible(cell) === undefined);

let weirs: SharedWeirs;
shared(async (use) => {
  const here = new Map(
    CASES.filter(({ cell }) => missing(cell) === false).map(({ cell, other }) => [cell, other]),
  );
  weirs = use(
    await SharedWeirs.start([...here.keys()], (cell) => [cell.way, here.get(cell) ?? cell.way]),
  );
});
for (const { wrong, cell, other } of CASES) {
  test(`${cellTitle(cell)}: ${wrong} reaches nothing`, { skip: missing(cell) }, async () => {
    await using accepted = await weirs.ends(cell);
    await using rejected = await weirs.client(cell, other);
    await using echo = await echoServer();
    await refused(rejected.socks, echo);
    await served(accepted.socks, echo);
    assert.equal(echo.accepted(), 1);
    if (!carriesDatagrams(cell.way)) return;
    await using udp = await udpEcho();
    await sentInVain(rejected.socks, udp);
    using association = await UdpAssociation.open(accepted.socks);
    association.send(udp.target, 'accepted');
    assert.equal(String((await association.receive()).data), 'accepted');
    assert.equal(udp.accepted(), 1);
  });
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
