import assert from 'node:assert/strict';
import test from 'node:test';
import { freedom } from '../support/process/config.ts';
import { API, Control } from '../support/process/control.ts';
import { without } from '../support/programs/peers.ts';
import { roundTrip } from '../support/read.ts';
import { echoServer } from '../support/peers/servers.ts';
import { socksConnect } from '../support/peers/socks-client.ts';
import { renewCertificate } from '../support/ways/certificate.ts';
import { PROGRAMS } from '../support/ways/programs.ts';
import { GRPC_TLS, type Way } from '../support/ways/way.ts';
import { weirIn } from '../support/ways/weir-config.ts';
import { Weir } from '../support/process/weir.ts';

const RELOADS = 15;
/** Clients at once. */
const CLIENTS = 12;

/** Clients whose calls share a connection, and cross the reload on it. */
for (const name of ['xray', 'sing-box', 'weir'] as const) {
  const program = PROGRAMS[name];
  test(
    `${name} as a gRPC client loses no connection while the certificate of Weir changes`,
    { skip: without(...program.needs.client) },
    async () => {
      const way: Way = { protocol: 'vless', carrier: GRPC_TLS };
      await using echo = await echoServer();
      await using weir = await Weir.start(API + weirIn(way, { tag: 'way' }) + freedom());
      const control = await Control.of(weir);
      await using client = await program.client(way, weir.address('way'));
      let reloading = true;
      let served = 0;
      const one = async (): Promise<void> => {
        const socket = await socksConnect(client.address, echo.target);
        const text = `connection ${served++}`;
        try {
          assert.equal(String(await roundTrip(socket, text)), text);
        } finally {
          socket.destroy();
        }
      };
      const clients = Array.from({ length: CLIENTS }, async () => {
        while (reloading) await one();
      });
      const reloads = async (): Promise<void> => {
        for (let i = 0; i < RELOADS; i++) {
          const before = served;
          renewCertificate();
          assert.equal((await control.post()).status, 200);
          // Clients come between reloads as well as during them.
          while (served < before + CLIENTS) await one();
        }
      };
      await Promise.all([reloads().finally(() => (reloading = false)), ...clients]);
    },
  );
}
