import assert from 'node:assert/strict';
import test from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { cellAt, cellTitle, missing, type Cell } from '../support/matrix/cell.ts';
import { SharedWeirs } from '../support/matrix/shared-weirs.ts';
import { bodyOf, receiveBody, sendBody, type Body } from '../support/data/pattern.ts';
import { tcpServer } from '../support/peers/servers.ts';
import { socksConnect } from '../support/peers/socks-client.ts';
import { readAll, readUpTo } from '../support/read.ts';
import { WS_TLS, type Carrier } from '../support/ways/way.ts';
import { shared } from '../support/shared.ts';

/** More than v2ray's pipe between its halves holds, which is 512 KB. */
const BODY = 1_000_000;
const DOWNLOADS = 8;
/** Longer than a program needs to pass a half-close on, and shorter than the pause after which Weir does. */
const THINKING_MS = 300;

const WS: Carrier = { network: 'ws' };

/** Sends a body to whoever has sent something, and ends. */
const bodyServer = () =>
  tcpServer(async (socket) => {
    await readUpTo(socket, 1);
    await sendBody(socket, BODY);
    socket.end();
  });

/** Responds some time after a request, without waiting for the client's end. */
const slowServer = () =>
  tcpServer(async (socket) => {
    const request = await readUpTo(socket, 7);
    await pause(THINKING_MS);
    socket.end(`response to ${String(request)}`);
  });

const CELLS = (['v2ray', 'xray', 'sing-box'] as const).flatMap((name) =>
  [WS, WS_TLS].flatMap((carrier) =>
    (['vless', 'trojan'] as const).flatMap((protocol): readonly Cell[] => [
      cellAt({ protocol, carrier }, { client: 'weir', server: name }),
      cellAt({ protocol, carrier }, { client: name, server: 'weir' }),
    ]),
  ),
);

let weirs: SharedWeirs;
shared(async (use) => {
  weirs = use(await SharedWeirs.start(CELLS.filter((cell) => missing(cell) === false)));
});
for (const cell of CELLS) {
  const title = `${cellTitle(cell)}: ends arrive after all that was sent`;
  test(title, { skip: missing(cell) }, async (t) => {
    await using ends = await weirs.ends(cell);

    await t.test('a body that its server ends', async () => {
      await using origin = await bodyServer();
      const download = async (): Promise<Body> => {
        const socket = await socksConnect(ends.socks, origin.target);
        socket.write('GET');
        try {
          return await receiveBody(socket);
        } finally {
          socket.destroy();
        }
      };
      // At once: some programs take a second to end each.
      const bodies = await Promise.all(Array.from({ length: DOWNLOADS }, download));
      assert.deepEqual(
        bodies,
        Array.from({ length: DOWNLOADS }, () => bodyOf(BODY)),
      );
    });

    // sing-box's clients end both sides by themselves when the application half-closes.
    const skip = cell.client.name === 'sing-box';
    await t.test('a response to a request whose client has half-closed', { skip }, async () => {
      await using origin = await slowServer();
      const socket = await socksConnect(ends.socks, origin.target);
      socket.end('request');
      const { data } = await readAll(socket);
      assert.equal(String(data), 'response to request');
      socket.destroy();
    });
  });
}
