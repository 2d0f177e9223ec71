import assert from 'node:assert/strict';
import test, { after, before, describe } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { Address } from '../../support/data/address.ts';
import {
  cellAt,
  cellTitle,
  COLUMNS,
  impossible,
  missing,
  type Cell,
} from '../../support/matrix/cell.ts';
import { freePort } from '../../support/ports.ts';
import { readAll, roundTrip } from '../../support/read.ts';
import { echoServer, udpEcho } from '../../support/peers/servers.ts';
import { socksConnect } from '../../support/peers/socks-client.ts';
import { UdpAssociation } from '../../support/peers/socks-udp.ts';
import type { Program } from '../../support/ways/program.ts';
import type { Way } from '../../support/ways/way.ts';
import { startWeirEnds, type WeirEnds } from '../../support/ways/weir.ts';
import { shared } from '../../support/shared.ts';

const CLOCK = fileURLToPath(new URL('../../support/process/skewed-clock.ts', import.meta.url));

/** How far a clock may be off, in seconds, and how far it may not. */
const LIMITS: readonly (readonly [way: Way, within: number, beyond: number])[] = [
  // Two minutes; a client may move its time by half a minute of its own.
  [{ protocol: 'vmess', cipher: 'aes-128-gcm' }, 80, 160],
  [{ protocol: 'shadowsocks', cipher: '2022-blake3-aes-128-gcm' }, 20, 40],
  [{ protocol: 'shadowsocks', cipher: '2022-blake3-chacha20-poly1305' }, 20, 40],
];

interface Case {
  readonly cell: Cell;
  /** How far the one Weir of a cell is off, of two the client. */
  readonly seconds: number;
  readonly isAccepted: boolean;
}

const CASES: readonly Case[] = LIMITS.flatMap(([way, within, beyond]) =>
  COLUMNS.map((column) => cellAt(way, column))
    .filter((cell) => impossible(cell) === undefined)
    .flatMap((cell) =>
      [within, -within, beyond, -beyond].map((seconds) => ({
        cell,
        seconds,
        isAccepted: Math.abs(seconds) === within,
      })),
    ),
);

const isWeir = ({ name }: Program): boolean => name === 'weir';
const isOfWeirs = ({ client, server }: Cell): boolean => isWeir(client) && isWeir(server);

/** A Weir in time, as the server of those that are not. */
const inTime = new Map<Way, Address>();
const stack = new AsyncDisposableStack();
before(async () => {
  const servers = LIMITS.map(([way]) => ({ way }));
  const ends = stack.use(await startWeirEnds({ servers }));
  for (const [at, { way }] of servers.entries()) inTime.set(way, ends.servers[at] as Address);
});
after(() => stack.disposeAsync());

for (const [seconds, cases] of Map.groupBy(CASES, (each) => each.seconds)) {
  const when = `${Math.abs(seconds)} s ${seconds > 0 ? 'ahead' : 'behind'}`;
  describe(`a Weir ${when}`, () => {
    const here = cases.filter(({ cell }) => missing(cell) === false);
    /** The ports of servers of other programs, which are started after their client. */
    const ports = new Map<Case, number>();
    const clients = here.filter(({ cell }) => isWeir(cell.client));
    const servers = here.filter(({ cell }) => isWeir(cell.server) && !isWeir(cell.client));
    let weir: WeirEnds;
    shared(async (use) => {
      for (const each of clients) ports.set(each, await freePort());
      weir = use(
        await startWeirEnds(
          {
            servers: servers.map(({ cell }) => ({ way: cell.way })),
            clients: clients.map((each) => ({
              way: each.cell.way,
              server: (isOfWeirs(each.cell) ? inTime.get(each.cell.way) : undefined) ?? {
                host: '127.0.0.1',
                port: ports.get(each) ?? 0,
              },
            })),
          },
          {
            nodeArgs: ['--import', CLOCK],
            env: { WEIR_TEST_SKEW_MS: String(seconds * 1000) },
          },
        ),
      );
    });
    /** The SOCKS listener of a cell whose other end runs until the stack is disposed of. */
    async function start(each: Case, ends: AsyncDisposableStack): Promise<Address> {
      const { client, server, way } = each.cell;
      if (!isWeir(client)) {
        const address = weir.servers[servers.indexOf(each)] as Address;
        return ends.use(await client.client(way, address)).address;
      }
      if (!isWeir(server)) ends.use(await server.server(way, { port: ports.get(each) ?? 0 }));
      return weir.clients[clients.indexOf(each)] as Address;
    }

    for (const each of cases) {
      const { cell, isAccepted } = each;
      const title = `${cellTitle(cell)}: is ${isAccepted ? 'accepted' : 'rejected'}`;
      test(title, { skip: missing(cell) }, async () => {
        await using ends = new AsyncDisposableStack();
        await using echo = await echoServer();
        const socks = await start(each, ends);
        const socket = await socksConnect(socks, echo.target);
        if (!isAccepted) {
          socket.end(Buffer.alloc(8192));
          assert.equal((await readAll(socket)).data.length, 0);
          assert.equal(echo.accepted(), 0);
          return;
        }
        assert.equal(String(await roundTrip(socket, 'in time')), 'in time');
        socket.destroy();
        await using udp = await udpEcho();
        using association = await UdpAssociation.open(socks);
        association.send(udp.target, 'in time');
        assert.equal(String((await association.receive()).data), 'in time');
      });
    }
  });
}
