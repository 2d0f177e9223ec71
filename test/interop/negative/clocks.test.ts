import assert from 'node:assert/strict';
import test from 'node:test';
import { fileURLToPath } from 'node:url';
import { cellAt, COLUMNS, impossible, missing } from '../../support/matrix/cell.ts';
import { readAll, roundTrip } from '../../support/read.ts';
import { echoServer, udpEcho } from '../../support/peers/servers.ts';
import { socksConnect } from '../../support/peers/socks-client.ts';
import { UdpAssociation } from '../../support/peers/socks-udp.ts';
import type { Program } from '../../support/ways/program.ts';
import { wayTitle, type Way } from '../../support/ways/way.ts';
import { weirProgram } from '../../support/ways/weir.ts';

const CLOCK = fileURLToPath(new URL('../../support/process/skewed-clock.ts', import.meta.url));

/** Weir with a wall clock so many seconds ahead. */
const skewed = (seconds: number): Program =>
  weirProgram({
    nodeArgs: ['--import', CLOCK],
    env: { WEIR_TEST_SKEW_MS: String(seconds * 1000) },
  });

/** How far a clock may be off, in seconds, and how far it may not. */
const LIMITS: readonly (readonly [way: Way, within: number, beyond: number])[] = [
  // Two minutes; a client may move its time by half a minute of its own.
  [{ protocol: 'vmess', cipher: 'aes-128-gcm' }, 80, 160],
  [{ protocol: 'shadowsocks', cipher: '2022-blake3-aes-128-gcm' }, 20, 40],
  [{ protocol: 'shadowsocks', cipher: '2022-blake3-chacha20-poly1305' }, 20, 40],
];

for (const [way, within, beyond] of LIMITS) {
  for (const column of COLUMNS) {
    const cell = cellAt(way, column);
    if (impossible(cell) !== undefined) continue;
    const title = `${wayTitle(way)}, ${column.client} to ${column.server}`;
    for (const sign of [1, -1]) {
      const options = { skip: missing(cell) };
      const when = sign > 0 ? 'ahead' : 'behind';
      test(`${title}: a Weir ${within} s ${when} is accepted`, options, async () => {
        await using echo = await echoServer();
        await using udp = await udpEcho();
        const { client, server } = withSkew(sign * within, column);
        await using far = await server.server(way);
        await using near = await client.client(way, far.address);
        const socket = await socksConnect(near.address, echo.target);
        assert.equal(String(await roundTrip(socket, 'in time')), 'in time');
        socket.destroy();
        using association = await UdpAssociation.open(near.address);
        association.send(udp.target, 'in time');
        assert.equal(String((await association.receive()).data), 'in time');
      });
      test(`${title}: a Weir ${beyond} s ${when} is rejected`, options, async () => {
        await using echo = await echoServer();
        const { client, server } = withSkew(sign * beyond, column);
        await using far = await server.server(way);
        await using near = await client.client(way, far.address);
        const socket = await socksConnect(near.address, echo.target);
        socket.end(Buffer.alloc(8192));
        assert.equal((await readAll(socket)).data.length, 0);
        assert.equal(echo.accepted(), 0);
      });
    }
  }
}

/** The one Weir of a column is off; of two, the server. */
function withSkew(
  seconds: number,
  column: (typeof COLUMNS)[number],
): { readonly client: Program; readonly server: Program } {
  const { client, server } = cellAt({ protocol: 'vmess' }, column);
  return column.server === 'weir'
    ? { client, server: skewed(seconds) }
    : { client: skewed(seconds), server };
}
