import assert from 'node:assert/strict';
import test from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { bodyOf, receiveBody, sendBody } from '../support/data/pattern.ts';
import { tcpServer } from '../support/peers/servers.ts';
import { socksConnect } from '../support/peers/socks-client.ts';
import { without } from '../support/programs/peers.ts';
import { readAll, readUpTo } from '../support/read.ts';
import { PROGRAMS } from '../support/ways/programs.ts';
import { wayTitle, WS_TLS, type Carrier, type Way } from '../support/ways/way.ts';

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

for (const name of ['v2ray', 'xray', 'sing-box'] as const) {
  const program = PROGRAMS[name];
  const weir = PROGRAMS['weir'];
  for (const carrier of [WS, WS_TLS]) {
    for (const protocol of ['vless', 'trojan'] as const) {
      const way: Way = { protocol, carrier };
      for (const [from, to] of [
        [weir, program],
        [program, weir],
      ] as const) {
        const needs = [...from.needs.client, ...to.needs.server];
        const title = `${wayTitle(way)} from ${from.name} to ${to.name}`;
        test(
          `${title}: ends arrive after all that was sent`,
          { skip: without(...needs) },
          async (t) => {
            await using server = await to.server(way);
            await using client = await from.client(way, server.address);

            await t.test('a body that its server ends', async () => {
              await using origin = await bodyServer();
              for (let i = 0; i < DOWNLOADS; i++) {
                const socket = await socksConnect(client.address, origin.target);
                socket.write('GET');
                assert.deepEqual(await receiveBody(socket), bodyOf(BODY), `download ${i + 1}`);
                socket.destroy();
              }
            });

            // sing-box's clients end both sides by themselves when the application half-closes.
            const ends = from.name === 'sing-box';
            await t.test(
              'a response to a request whose client has half-closed',
              { skip: ends },
              async () => {
                await using origin = await slowServer();
                const socket = await socksConnect(client.address, origin.target);
                socket.end('request');
                const { data } = await readAll(socket);
                assert.equal(String(data), 'response to request');
                socket.destroy();
              },
            );
          },
        );
      }
    }
  }
}
