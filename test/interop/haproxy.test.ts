import assert from 'node:assert/strict';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { apiAddresses } from '../scenarios/api-support.ts';
import { portOf } from '../support/data/address.ts';
import { startFlowLoad } from '../support/peers/flow-load.ts';
import { echoServer, type Origin } from '../support/peers/servers.ts';
import { socksConnect } from '../support/peers/socks-client.ts';
import { freedom, socksIn } from '../support/process/config.ts';
import { startPeer, without, type Peer } from '../support/programs/peers.ts';
import { Weir } from '../support/process/weir.ts';
import { roundTrip } from '../support/read.ts';
import { eventually, within } from '../support/wait.ts';

/*
 * The configuration of docs/scaling.md: HAProxy in front of two machines, each of which is a process
 * here, checked by /v1/health.
 */

const SECRET = 'health of this machine';
const CONFIG = `[api]\nlisten = "127.0.0.1:0"\nsecret = "${SECRET}"\n${socksIn()}${freedom()}`;
const COMMANDS = 'haproxy.sock';

/** HAProxy with its commands at a unix socket in its folder. */
async function startHaproxy(servers: Readonly<Record<string, Weir>>): Promise<Peer & Commands> {
  let commands = '';
  const peer = await startPeer('haproxy', 1, async ([port], folder) => {
    const file = join(folder, 'haproxy.cfg');
    commands = join(folder, COMMANDS);
    const lines = Object.entries(servers).map(
      ([name, weir]) =>
        `  server ${name} 127.0.0.1:${portOf(weir.address('socks'))} check port ${apiPort(weir)}`,
    );
    await writeFile(
      file,
      `global
  stats socket ${commands} level admin
defaults
  mode tcp
  timeout connect 5s
  timeout client 1h
  timeout server 1h
  timeout check 2s
frontend clients
  bind 127.0.0.1:${port}
  default_backend weir
backend weir
  balance leastconn
  option httpchk
  http-check send meth GET uri /v1/health ver HTTP/1.1 hdr Host weir hdr Authorization "Bearer ${SECRET}"
  http-check expect status 200
  retries 3
  option redispatch 1
  default-server inter 200ms fall 2 rise 1
${lines.join('\n')}
`,
    );
    return ['-f', file];
  });
  const command = (text: string): Promise<string> => commandOf(commands, text);
  // It listens there after the port.
  await eventually('the commands of HAProxy', () =>
    command('show info').then(
      () => true,
      () => false,
    ),
  );
  return Object.assign(peer, { command });
}

interface Commands {
  /** Sends a line to HAProxy's socket. @returns the answer */
  readonly command: (text: string) => Promise<string>;
}

async function commandOf(path: string, text: string): Promise<string> {
  const socket = connect(path);
  let answer = '';
  socket.setEncoding('utf8').on('data', (chunk: string) => (answer += chunk));
  socket.end(`${text}\n`);
  await within(once(socket, 'close'), `the answer of HAProxy to ${text}`);
  return answer;
}

const apiPort = (weir: Weir): number => {
  const [address] = apiAddresses(weir);
  if (!address) throw new Error('no API');
  return portOf(address);
};

/** A figure of HAProxy for a server, by the name of its column: `status` is UP, DOWN or DRAIN, `scur` its flows. */
async function figureOf(haproxy: Commands, name: string, column: string): Promise<string> {
  const [head = [], ...rows] = (await haproxy.command('show stat'))
    .split('\n')
    .map((line) => line.split(','));
  const row = rows.find(([backend, server]) => backend === 'weir' && server === name);
  return row?.[head.indexOf(column)] ?? '';
}

const until = (haproxy: Commands, name: string, state: string): Promise<boolean> =>
  eventually(`${name} to be ${state}`, async () =>
    (await figureOf(haproxy, name, 'status')).startsWith(state) ? true : undefined,
  );

async function flow(haproxy: Peer, origin: Origin): Promise<Socket> {
  const socket = await socksConnect(haproxy.address, origin.target);
  assert.equal(String(await roundTrip(socket, 'x')), 'x');
  return socket;
}

suite('HAProxy in front of two processes', { skip: without('haproxy') }, () => {
  test('drains one, which then stops, and refuses no client', async () => {
    await using origin = await echoServer();
    await using first = await Weir.start(CONFIG);
    await using second = await Weir.start(CONFIG);
    await using haproxy = await startHaproxy({ first, second });
    await Promise.all([until(haproxy, 'first', 'UP'), until(haproxy, 'second', 'UP')]);
    const sockets = await Promise.all(Array.from({ length: 16 }, () => flow(haproxy, origin)));
    const more = startFlowLoad(() => flow(haproxy, origin));
    await haproxy.command('set server weir/first state drain');
    await until(haproxy, 'first', 'DRAIN');
    // Flows that it has go on for as long as they like.
    for (const socket of sockets) {
      assert.equal(String(await roundTrip(socket, 'y')), 'y');
      socket.destroy();
    }
    await eventually('the flows of the first to end', async () => {
      return (await figureOf(haproxy, 'first', 'scur')) === '0' ? true : undefined;
    });
    assert.equal((await first.stop()).code, 0);
    assert.ok((await more.end()) > 0);
    (await flow(haproxy, origin)).destroy();
  });

  test('sends clients to the other when one stops without notice', async () => {
    await using origin = await echoServer();
    await using first = await Weir.start(CONFIG);
    await using second = await Weir.start(CONFIG);
    await using haproxy = await startHaproxy({ first, second });
    await Promise.all([until(haproxy, 'first', 'UP'), until(haproxy, 'second', 'UP')]);
    first.child.signal('SIGTERM');
    await within(first.child.exited, 'its end');
    // Refused connections are tried again at the other before the check has failed.
    for (let i = 0; i < 8; i++) (await flow(haproxy, origin)).destroy();
    await until(haproxy, 'first', 'DOWN');
    for (let i = 0; i < 8; i++) (await flow(haproxy, origin)).destroy();
  });
});
