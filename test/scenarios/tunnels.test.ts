import assert from 'node:assert/strict';
import test from 'node:test';
import { hostPort, open } from '../support/data/address.ts';
import { freedom, socksIn } from '../support/process/config.ts';
import { bothWays, datagrams, socksHalfCloses, manyStreams } from '../support/programs/exchange.ts';
import { addressed, frame, NEW } from '../support/peers/mux-client.ts';
import { readAll, readExactly, roundTrip } from '../support/read.ts';
import { echoServer, tcpServer, udpEcho, webServer } from '../support/peers/servers.ts';
import { socksConnect } from '../support/peers/socks-client.ts';
import { ID } from '../support/ways/secrets.ts';
import { weirIn, weirOut } from '../support/ways/weir-config.ts';
import { eventually } from '../support/wait.ts';
import { Weir } from '../support/process/weir.ts';

const BODY = 8 << 20;
const STREAMS = 300;
const TUNNELS = ['trojan', 'vless'] as const;
const EXIT = [...TUNNELS.map((protocol) => weirIn({ protocol })), freedom(), '[api]'].join('\n');
const LOG = { env: { RUST_LOG: 'debug' } };

/** An exit with its control API, on a port that the kernel chose. */
async function startExit(): Promise<{ weir: Weir; api: string }> {
  const weir = await Weir.start(`${EXIT}\nlisten = "127.0.0.1:0"\n`, LOG);
  const address = await weir.child.until(
    'the API listening',
    () => /API listening on (\S+)/.exec(weir.child.stderr)?.[1],
  );
  return { weir, api: `http://${address}/v1` };
}

interface Connections {
  readonly sessions: { id: number; user: string | null; up: number; down: number }[];
  readonly flows: {
    id: number;
    session: number;
    user: string | null;
    up: number;
    network: string;
  }[];
}

const connections = async (api: string): Promise<Connections> =>
  (await (await fetch(`${api}/connections`)).json()) as Connections;

test('two Weirs in a chain carry streams, half-closes and datagrams', async (t) => {
  const { weir: exit, api } = await startExit();
  await using _exit = exit;
  for (const protocol of TUNNELS) {
    await using entry = await Weir.start(socksIn() + weirOut({ protocol }, exit.address(protocol)));
    const socks = entry.address('socks');

    await t.test(`${protocol}: a body each way`, async () => {
      await using web = await webServer();
      await bothWays(['-x', `socks5h://${hostPort(socks)}`], web, BODY);
    });
    await t.test(`${protocol}: half-closes both ways`, () => socksHalfCloses(socks));
    await t.test(`${protocol}: datagrams`, async () => {
      await using first = await udpEcho();
      await using second = await udpEcho();
      await datagrams(socks, [first, second]);
    });
    await t.test(`${protocol}: many streams at once`, () => manyStreams(socks, STREAMS));

    await t.test(`${protocol}: the bytes of a server that sends first arrive`, async () => {
      await using server = await tcpServer((socket) => void socket.end('welcome'));
      const client = await socksConnect(socks, server.target);
      assert.equal(String((await readAll(client)).data), 'welcome');
      client.destroy();
    });

    await t.test(
      `${protocol}: a destination that is unreachable resets the connection`,
      async () => {
        const client = await socksConnect(socks, { host: '127.0.0.1', port: 1 });
        client.on('error', () => undefined);
        client.write('hello');
        assert.deepEqual(await readAll(client), { data: Buffer.alloc(0), clean: false });
      },
    );

    await t.test(
      `${protocol}: a server killed in the middle of a body resets the client's connection`,
      async () => {
        await using server = await tcpServer((socket) => {
          socket.write('half of');
          socket.once('data', () => socket.resetAndDestroy());
        });
        const client = await socksConnect(socks, server.target);
        client.on('error', () => undefined);
        assert.equal(String(await readExactly(client, 7)), 'half of');
        client.write('go');
        assert.equal((await readAll(client)).clean, false);
      },
    );

    await t.test(`${protocol}: a flow has its user, its session, and can be killed`, async () => {
      await using echo = await echoServer();
      // Those of earlier clients end a little after their clients have.
      await eventually('no flow left', async () => (await connections(api)).flows.length === 0);
      const doomed = await socksConnect(socks, echo.target);
      const other = await socksConnect(socks, echo.target);
      doomed.on('error', () => undefined);
      await roundTrip(doomed, 'hello');
      await roundTrip(other, 'hello');
      const { flows, sessions } = await connections(api);
      assert.equal(flows.length, 2);
      const [first] = flows;
      const user = protocol === 'trojan' ? 'mia@example.com' : null;
      assert.deepEqual([first?.user, first?.up, first?.network], [user, 5, 'tcp']);
      const session = sessions.find(({ id }) => id === first?.session);
      assert.equal(session?.user, user);
      // Header and payload there, a response header and payload back.
      assert.ok(session.up > 5 && session.down === (protocol === 'trojan' ? 5 : 7));
      assert.equal(
        (await fetch(`${api}/connections/${first?.id}`, { method: 'DELETE' })).status,
        204,
      );
      assert.equal((await readAll(doomed)).clean, false);
      assert.equal(String(await roundTrip(other, 'still here')), 'still here');
      other.destroy();
      await eventually('no flow left', async () => (await connections(api)).flows.length === 0);
    });

    await t.test(
      `${protocol}: an unauthenticated client is rejected, and the log has the reason`,
      async () => {
        const wrongSettings =
          protocol === 'trojan' ? 'password = "wrong"' : `id = "${ID.replace('b', 'c')}"`;
        const config =
          socksIn() + weirOut({ protocol }, exit.address(protocol), { settings: wrongSettings });
        await using wrong = await Weir.start(config);
        await using echo = await echoServer();
        const client = await socksConnect(wrong.address('socks'), echo.target);
        client.on('error', () => undefined);
        client.write('hello');
        assert.equal((await readAll(client)).data.length, 0);
        assert.equal(echo.accepted(), 0);
        await exit.child.until('the reason', () =>
          exit.child.stderr.includes(`${protocol}: invalid user`),
        );
      },
    );
  }
});

test('a killed sub-flow leaves its carrier and the other sub-flows open', async () => {
  const { weir: exit, api } = await startExit();
  await using _exit = exit;
  await using echo = await echoServer();
  await using udp = await udpEcho();
  const carrier = await open(exit.address('vless'));
  const id = Buffer.from(ID.replaceAll('-', ''), 'hex');
  carrier.write(Buffer.concat([Buffer.of(0), id, Buffer.of(0, 3)]));
  const tcp = addressed('tcp', echo.target);
  carrier.write(frame(1, NEW, 'one', tcp));
  // The response header, and a frame: length, id, status, options, length, data.
  assert.equal(
    (await readExactly(carrier, 2 + 8 + 3)).toString('hex'),
    '000000040001020100036f6e65',
  );
  carrier.write(frame(2, NEW, 'two', tcp));
  assert.equal((await readExactly(carrier, 8 + 3)).toString('hex'), '000400020201000374776f');
  carrier.write(frame(3, NEW, 'udp', addressed('udp', udp.target)));
  assert.equal((await readExactly(carrier, 8 + 3)).toString('hex'), '0004000302010003756470');
  const { flows, sessions } = await connections(api);
  assert.deepEqual(
    flows.map(({ network, session }) => [network, session]),
    ['tcp', 'tcp', 'udp'].map((network) => [network, sessions[0]?.id]),
  );
  assert.equal(sessions.length, 1);
  await fetch(`${api}/connections/${flows[0]?.id}`, { method: 'DELETE' });
  assert.equal((await readExactly(carrier, 6)).toString('hex'), '000400010302');
  carrier.write(frame(2, 2, 'still'));
  assert.equal((await readExactly(carrier, 8 + 5)).toString('hex'), '00040002020100057374696c6c');
  // A datagram flow opens a new flow for what comes after a kill.
  await fetch(`${api}/connections/${flows[2]?.id}`, { method: 'DELETE' });
  carrier.write(frame(3, 2, 'udp'));
  assert.equal((await readExactly(carrier, 8 + 3)).toString('hex'), '0004000302010003756470');
  carrier.end(frame(2, 3));
  await eventually('no flow left', async () => (await connections(api)).flows.length === 0);
});
