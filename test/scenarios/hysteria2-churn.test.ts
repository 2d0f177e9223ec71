import assert from 'node:assert/strict';
import test from 'node:test';
import { freedom } from '../support/process/config.ts';
import { API, Control } from '../support/process/control.ts';
import { churn, exchangeDuring, Hysteria2Clients } from '../support/peers/hysteria2-clients.ts';
import { openSockets } from '../support/process/proc.ts';
import { echoServer } from '../support/peers/servers.ts';
import { eventually } from '../support/wait.ts';
import { renewCertificate } from '../support/ways/certificate.ts';
import { PASSWORD } from '../support/ways/secrets.ts';
import { weirIn } from '../support/ways/weir-config.ts';
import { Weir } from '../support/process/weir.ts';

/** As `npm run stress -- hysteria2` does it, with fewer of everything. */
const CONNECTIONS = 100;
const AT_ONCE = 16;
const RELOADS = 10;

const config = (masquerade = ''): string =>
  API + weirIn({ protocol: 'hysteria2' }, { tag: 'hy' }) + masquerade + freedom();

const variant = (i: number): string =>
  i % 2 === 0 ? config() : config(`[inbound.settings.masquerade]\nbody = "${i}"\n`);

test('Hysteria 2 connections that come and go leave nothing in the server', async () => {
  const control = await Control.of(await Weir.start(config()));
  await using weir = control.weir;
  const server = weir.address('hy');
  await using echo = await echoServer();
  using clients = new Hysteria2Clients(server, PASSWORD);
  const sockets = openSockets(weir.pid);
  await churn(
    CONNECTIONS,
    AT_ONCE,
    (i) => (i % 10 === 0 ? 'a wrong password' : i % 10 === 1 ? 'a prober' : 'echo'),
    clients,
    server,
    echo,
  );
  await eventually('the end of all sessions', async () => {
    const { sessions, flows } = await control.connections();
    return sessions.length + flows.length === 0;
  });
  await eventually('the release of all sockets', () => openSockets(weir.pid) <= sockets);
});

test('a Hysteria 2 connection lives through reloads, with a transfer under way', async () => {
  const control = await Control.of(await Weir.start(config()));
  await using weir = control.weir;
  await using echo = await echoServer();
  using clients = new Hysteria2Clients(weir.address('hy'), PASSWORD);
  const client = clients.create();
  const sockets = openSockets(weir.pid);
  const bytes = await exchangeDuring(client, echo, async () => {
    const [session] = await eventually('the session', async () => {
      const { sessions } = await control.connections();
      return sessions.length > 0 && sessions;
    });
    for (let i = 1; i <= RELOADS; i++) {
      if (i % 5 === 0) renewCertificate();
      const { swapped, restarted } = await control.apply(variant(i));
      assert.deepEqual([swapped, restarted], [['hy'], []]);
    }
    const { sessions } = await control.connections();
    assert.deepEqual(
      sessions.map(({ id }) => id),
      [session?.id],
    );
  });
  assert.ok(bytes > 0);
  client.close();
  await eventually('the end of the session', async () => {
    const { sessions, flows } = await control.connections();
    return sessions.length + flows.length === 0;
  });
  await eventually('the release of all sockets', () => openSockets(weir.pid) <= sockets);
});
