import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { createSocket } from 'node:dgram';
import test, { after, before } from 'node:test';
import { open, portOf, type Address } from '../../support/data/address.ts';
import {
  cellAt,
  cellTitle,
  COLUMNS,
  impossible,
  missing,
  type Cell,
} from '../../support/matrix/cell.ts';
import { freePorts } from '../../support/ports.ts';
import { readAll, roundTrip } from '../../support/read.ts';
import { recordingRelay } from '../../support/peers/recording-relay.ts';
import { echoServer, udpEcho } from '../../support/peers/servers.ts';
import { socksConnect } from '../../support/peers/socks-client.ts';
import { UdpAssociation } from '../../support/peers/socks-udp.ts';
import { isModern, type Way } from '../../support/ways/way.ts';
import { startWeirEnds } from '../../support/ways/weir.ts';

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

interface Case {
  readonly cell: Cell;
  readonly what: 'connection' | 'datagram';
}

const CELLS = WAYS.flatMap((way) =>
  COLUMNS.filter(({ server }) => server === 'weir').map((column) => cellAt(way, column)),
).filter((cell) => impossible(cell) === undefined);

/** The legacy edition cannot recognize a replayed datagram. */
const CASES = CELLS.flatMap((cell): readonly Case[] => [
  { cell, what: 'connection' },
  ...(isModern(cell.way) ? [{ cell, what: 'datagram' } as const] : []),
]);

const stack = new AsyncDisposableStack();
const servers = new Map<Way, Address>();
/** Weir as the client of the relays of its cases: where they are, and its SOCKS listener. */
const clients = new Map<Case, { readonly relay: number; readonly socks: Address }>();
before(async () => {
  const ends = stack.use(await startWeirEnds({ servers: WAYS.map((way) => ({ way })) }));
  for (const [at, way] of WAYS.entries()) servers.set(way, ends.servers[at] as Address);
  const own = CASES.filter(({ cell }) => cell.client.name === 'weir');
  const relays = await freePorts(own.length);
  const weir = stack.use(
    await startWeirEnds({
      clients: own.map(({ cell }, at) => ({
        way: cell.way,
        server: { host: '127.0.0.1', port: relays[at] ?? 0 },
      })),
    }),
  );
  for (const [at, each] of own.entries()) {
    clients.set(each, { relay: relays[at] ?? 0, socks: weir.clients[at] as Address });
  }
});
after(() => stack.disposeAsync());

/** A client of the way's server, with a relay in between. */
async function start(each: Case) {
  await using ends = new AsyncDisposableStack();
  const { client, way } = each.cell;
  const server = servers.get(way) as Address;
  const shared = clients.get(each);
  const relay = ends.use(await recordingRelay(server, shared?.relay));
  const socks = shared?.socks ?? ends.use(await client.client(way, relay.address)).address;
  const started = ends.move();
  return { server, relay, socks, [Symbol.asyncDispose]: () => started.disposeAsync() };
}

for (const each of CASES) {
  const { cell, what } = each;
  const skip = missing(cell);
  if (what === 'connection') {
    test(
      `${cellTitle(cell)}: a replayed connection is treated as garbage is`,
      { skip },
      async () => {
        await using ends = await start(each);
        const { server, relay, socks } = ends;
        await using echo = await echoServer();
        await converse(socks, echo.target);
        const [recorded = Buffer.alloc(0)] = relay.connections();
        assert.ok(recorded.length > 0);

        const replayed = await answerTo(server, recorded);
        const garbage = await answerTo(server, randomBytes(recorded.length));
        assert.deepEqual(replayed, garbage);
        assert.equal(replayed.data.length, 0);
        // A new connection is served as before, and only that one.
        await converse(socks, echo.target);
        assert.equal(echo.accepted(), 2);
      },
    );
  } else {
    test(`${cellTitle(cell)}: a replayed datagram is dropped`, { skip }, async () => {
      await using ends = await start(each);
      const { server, relay, socks } = ends;
      await using udp = await udpEcho();
      using association = await UdpAssociation.open(socks);
      association.send(udp.target, 'once');
      await association.receive();
      const again = createSocket('udp4');
      for (const datagram of relay.datagrams()) again.send(datagram, portOf(server));
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
