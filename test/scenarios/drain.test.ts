import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import test from 'node:test';
import { requestDrain, requestReload } from '@weir/server/control';
import { Status } from '../../packages/proxy/src/mux/frame.ts';
import { hostPort, open, portOf, type Address } from '../support/data/address.ts';
import { BoundSocket } from '../support/links/bound-socket.ts';
import { exchange, Hysteria2Clients, openEcho } from '../support/peers/hysteria2-clients.ts';
import { END, frame } from '../support/peers/mux-client.ts';
import { muxOver } from '../support/peers/mux-over-vless.ts';
import { echoServer, udpEcho, webServer, type Origin } from '../support/peers/servers.ts';
import { socksConnect } from '../support/peers/socks-client.ts';
import { UdpAssociation } from '../support/peers/socks-udp.ts';
import { freedom, httpIn, rule, socksIn } from '../support/process/config.ts';
import { API, Control, errorOf } from '../support/process/control.ts';
import { passing } from '../support/process/passing.ts';
import { around, openPlaces } from '../support/process/removed-account.ts';
import { Weir, weirCommand, type WeirOptions } from '../support/process/weir.ts';
import { readAll, readExactly, readHead, roundTrip } from '../support/read.ts';
import { eventually, within } from '../support/wait.ts';
import { PASSWORD } from '../support/ways/secrets.ts';
import { weirIn, weirOut } from '../support/ways/weir-config.ts';
import { CARRIERS, carriesDatagrams, type Way } from '../support/ways/way.ts';

const ofWeir = CARRIERS.filter(({ multi = false }) => !multi);

/** Every kind of session: one flow on each connection, several on one, datagrams of a port, a connection in QUIC. */
const WAYS: readonly Way[] = [
  { protocol: 'socks', login: true },
  { protocol: 'http', login: true },
  ...ofWeir.map((carrier): Way => ({ protocol: 'trojan', carrier })),
  { protocol: 'vless' },
  { protocol: 'vmess', cipher: 'aes-128-gcm' },
  { protocol: 'shadowsocks', cipher: '2022-blake3-aes-256-gcm' },
  { protocol: 'hysteria2' },
];

const HAS_SOCKET: WeirOptions = { control: true };

/** Whether a connection to an address is refused. */
const refuses = (address: Address): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect('path' in address ? address : { ...address });
    socket.once('error', () => resolve(true));
    socket.once('connect', () => {
      socket.destroy();
      resolve(false);
    });
  });

/** A flow that is registered. */
async function openFlow(weir: Weir, { target }: Pick<Origin, 'target'>): Promise<Socket> {
  const flow = await socksConnect(weir.address('socks'), target);
  assert.equal(String(await roundTrip(flow, 'hello')), 'hello');
  return flow;
}

const begin = ({ controlPath }: Weir) => requestDrain(controlPath, 'begin');
const undo = ({ controlPath }: Weir) => requestDrain(controlPath, 'undo');

/** Waits until a draining process has no client left. */
const drained = ({ controlPath }: Weir): Promise<boolean> =>
  eventually('the end of the drain', async () => {
    const { flows, sessions, handshakes } = await requestDrain(controlPath, 'show');
    return flows + sessions + handshakes === 0;
  });

test('a drain ends no flow, whatever the protocol and the carrier, and no session outlives its flows', async (t) => {
  await using places = await openPlaces();
  const tags = WAYS.map((way, i) => ({ way, tag: `${way.protocol}-${i}` }));
  const config = around(tags.map(({ way, tag }) => weirIn(way, { tag })).join(''), places);
  await using exit = await Weir.start(config, HAS_SOCKET);
  const entry = tags
    .map(
      ({ way, tag }) =>
        `${socksIn(tag)}${weirOut(way, exit.address(tag), { tag: `to-${tag}` })}${rule(`to-${tag}`, `inbound_tag = ["${tag}"]`)}`,
    )
    .join('');
  await using client = await Weir.start(entry);
  await using stack = new AsyncDisposableStack();
  const clients = await Promise.all(
    tags.map(async ({ way, tag }) => {
      const stream = await socksConnect(client.address(tag), places.echo.target);
      stack.defer(() => void stream.destroy());
      const association = carriesDatagrams(way)
        ? stack.use(await UdpAssociation.open(client.address(tag)))
        : undefined;
      const goesOn = async (): Promise<void> => {
        assert.equal(String(await roundTrip(stream, 'goes on')), 'goes on');
        association?.send(places.udp.target, 'hello');
        if (association) assert.equal(String((await association.receive()).data), 'hello');
      };
      await goesOn();
      return { way, tag, stream, association, goesOn };
    }),
  );

  const begun = await begin(exit);
  assert.ok(begun.since !== null && begun.flows >= clients.length);
  for (const { way, tag, goesOn } of clients) {
    await t.test(`${tag} goes on`, async () => {
      await goesOn();
      if (way.protocol === 'hysteria2') {
        // On a connection with other flows: no other process could take it.
        const another = await socksConnect(client.address(tag), places.echo.target);
        assert.equal(String(await roundTrip(another, 'another')), 'another');
        another.destroy();
      } else assert.equal(await refuses(exit.address(tag)), true);
    });
  }
  for (const { stream, association } of clients) {
    stream.destroy();
    association?.control.destroy();
  }
  // Nothing tells a server that a client has no more datagrams: these flows end by their idle time.
  const server = await Control.of(exit);
  for (const { tag, association } of clients) {
    if (association) await server.api.json('DELETE', `/v1/connections?inbound=${tag}`);
  }
  await drained(exit);
  await exit.child.until('the line of its end', ({ stderr }) =>
    stderr.includes('svc_app::instance: drained: nothing is left\n') ? true : undefined,
  );

  assert.equal((await undo(exit)).since, null);
  for (const { tag } of clients) {
    await t.test(`${tag} is served when the drain was taken back`, async () => {
      const again = await socksConnect(client.address(tag), places.echo.target);
      assert.equal(String(await roundTrip(again, 'again')), 'again');
      again.destroy();
    });
  }
});

test('sessions that wait for a flow end with the begin of a drain, and kept ones with their last', async () => {
  await using echo = await echoServer();
  await using web = await webServer();
  const ways: readonly Way[] = [{ protocol: 'vless' }, { protocol: 'hysteria2' }];
  const config = ways.map((way) => weirIn(way)).join('') + httpIn() + freedom();
  await using weir = await Weir.start(config, HAS_SOCKET);
  await using stack = new AsyncDisposableStack();
  const kept = async (): Promise<Socket> => {
    const http = await open(weir.address('http'));
    stack.defer(() => void http.destroy());
    return http;
  };
  const get = `GET http://${hostPort(web)}/hello HTTP/1.1\r\nHost: ${hostPort(web)}\r\n\r\n`;
  const idle = await kept();
  idle.write(get);
  const length = /^content-length: (\d+)/im.exec(await readHead(idle))?.[1];
  await readExactly(idle, Number(length));
  const { client: mux, link } = await muxOver(weir.address('vless'));
  stack.defer(() => link.destroy());
  await mux.open(1, echo.target, 'hello');
  assert.equal(await mux.data(1, 5), 'hello');
  using clients = new Hysteria2Clients(weir.address('hysteria2'), PASSWORD);
  const hysteria = clients.create();
  stack.defer(() => hysteria.close());
  const stream = await openEcho(hysteria, echo);
  await exchange(stream, 1000);
  // One whose first request is on its way.
  const begun = await kept();
  begun.write(get.slice(0, 20));
  const seen = await kept();
  seen.write('GET / HTTP/1.1\r\n\r\n');
  await readHead(seen);

  await begin(weir);
  assert.equal((await readAll(idle)).clean, true);
  begun.write(get.slice(20));
  const last = String((await readAll(begun)).data);
  assert.match(last, /^HTTP\/1\.1 200 .*^connection: close\r$/ims);
  // A flow on a carrier that has others is served: nothing but this process could.
  await mux.open(2, echo.target, 'again');
  assert.equal(await mux.data(2, 5), 'again');
  await mux.send(frame(1, END), frame(2, END));
  const ends = [(await mux.next()).head.status, (await mux.next()).head.status];
  assert.deepEqual(ends, [Status.end, Status.end]);
  assert.equal(await link.read(), undefined);
  await stream.closeWrite();
  while ((await stream.read()) !== undefined);
  await drained(weir);
});

test('a client that was accepted before a drain is served, and one that comes later waits for who shares its socket', async () => {
  await using echo = await echoServer();
  using listener = new BoundSocket('stream', { host: '127.0.0.1', port: 0 });
  const config = socksIn().replace('port = 0', `port = ${listener.port}`) + freedom();
  await using weir = await Weir.start(config, passing([listener], HAS_SOCKET));
  const early = await open(weir.address('socks'));
  early.write(Buffer.of(5, 1, 0));
  assert.deepEqual([...(await readExactly(early, 2))], [5, 0]);
  await begin(weir);
  const late = await open(weir.address('socks'));
  late.write(Buffer.of(5, 1, 0));
  early.write(
    Buffer.concat([
      Buffer.of(5, 1, 0, 1, 127, 0, 0, 1),
      Buffer.of(echo.port >> 8, echo.port & 255),
    ]),
  );
  assert.equal((await readExactly(early, 10))[1], 0);
  assert.equal(String(await roundTrip(early, 'served')), 'served');
  early.destroy();
  await drained(weir);
  await using next = await Weir.start(config, passing([listener], HAS_SOCKET));
  assert.deepEqual([...(await readExactly(late, 2))], [5, 0]);
  late.destroy();
  assert.equal((await next.stop()).code, 0);
});

test('a reload during a drain is refused, changes nothing, and follows when the drain is taken back', async () => {
  const config = `${API}${socksIn()}${freedom()}${freedom('other')}[route]\ndefault = "direct"\n`;
  await using weir = await Weir.start(config, HAS_SOCKET);
  const server = await Control.of(weir);
  await begin(weir);
  assert.equal((await requestReload(weir.controlPath)).kind, 'unchanged');
  const pick = { method: 'PUT', body: JSON.stringify({ target: 'other' }) };
  const refused = await server.api.ask(pick.method, '/v1/routes/default', {
    headers: { 'content-type': 'application/json' },
    body: pick.body,
  });
  assert.equal(refused.status, 500);
  assert.match(errorOf(refused), /^the proxy is draining/);
  assert.equal(String(await readFile(server.file)), config);

  const changed = config + httpIn();
  await server.write(changed);
  const outcome = await requestReload(weir.controlPath);
  assert.equal(outcome.kind, 'failed');
  assert.ok(outcome.kind === 'failed' && outcome.line.startsWith('reload: the proxy is draining'));
  assert.equal(weir.addresses.has('http'), false);
  await undo(weir);
  assert.equal(await refuses(weir.address('socks')), false);
  assert.equal(await refuses(weir.address('http')), false);
  assert.equal((await requestReload(weir.controlPath)).kind, 'unchanged');
});

test('a drain that cannot be taken back goes on, and no listener accepts', async () => {
  await using weir = await Weir.start(socksIn('one') + socksIn('two') + freedom(), HAS_SOCKET);
  await begin(weir);
  using other = new BoundSocket('stream', { host: '127.0.0.1', port: portOf(weir.address('two')) });
  await assert.rejects(undo(weir), /inbound two: .*address already in use/);
  assert.equal(await refuses(weir.address('one')), true);
  assert.notEqual((await requestDrain(weir.controlPath, 'show')).since, null);
  other[Symbol.dispose]();
  await undo(weir);
  assert.equal(await refuses(weir.address('one')), false);
  assert.equal(await refuses(weir.address('two')), false);
});

test('weir drain says how many flows are left, and waits for their end', async () => {
  await using echo = await echoServer();
  await using weir = await Weir.start(API + socksIn() + freedom(), HAS_SOCKET);
  const server = await Control.of(weir);
  const flow = await openFlow(weir, echo);
  const at = ['--socket', weir.controlPath];
  const run = async (...args: readonly string[]) => {
    await using command = weirCommand([...args, ...at]);
    const { code } = await within(command.exited, args.join(' '));
    return { code, out: command.stdout, err: command.stderr };
  };
  const first = await run('drain', '--wait', '0s');
  assert.deepEqual(first, { code: 1, out: '1 flow in 1 session left\n', err: '' });
  const status = await run('status');
  assert.match(status.out, /^draining for \d+s: 1 flow in 1 session left$/m);
  assert.equal((await server.connections()).flows.length, 1);

  await using waiting = weirCommand(['drain', '--json', ...at]);
  await waiting.until('its first line', ({ stdout }) => stdout.includes('"flows":1,') || undefined);
  assert.equal(String(await roundTrip(flow, 'hello')), 'hello');
  flow.destroy();
  assert.equal((await within(waiting.exited, 'the end of the wait')).code, 0);
  const last: unknown = JSON.parse(waiting.stdout.trimEnd().split('\n').at(-1) ?? '');
  assert.equal((last as { flows: number }).flows, 0);

  assert.deepEqual(await run('drain'), { code: 0, out: 'nothing is left\n', err: '' });
  const undone = await run('drain', '--undo');
  assert.deepEqual(undone, { code: 0, out: 'the inbounds accept clients\n', err: '' });
  assert.doesNotMatch((await run('status')).out, /draining/);
  (await socksConnect(weir.address('socks'), echo.target)).destroy();
});

test('weir drain that waits ends when another takes the drain back', async () => {
  await using echo = await echoServer();
  await using weir = await Weir.start(socksIn() + freedom(), HAS_SOCKET);
  const flow = await openFlow(weir, echo);
  await using waiting = weirCommand(['drain', '--socket', weir.controlPath]);
  await waiting.until('its first line', ({ stdout }) => stdout.includes('1 flow') || undefined);
  await undo(weir);
  assert.equal((await within(waiting.exited, 'its end')).code, 1);
  assert.equal(waiting.stderr, 'weir drain: the drain was taken back\n');
  flow.destroy();
});

test('a stop with a long --grace ends when the flows have, and another process serves meanwhile', async () => {
  await using echo = await echoServer();
  await using udp = await udpEcho();
  const config =
    socksIn('socks', '[inbound.settings]\nudp = true') + weirIn({ protocol: 'vless' }) + freedom();
  const options = { ...HAS_SOCKET, args: ['--grace', '1h'] };
  await using weir = await Weir.start(config, options);
  const flow = await openFlow(weir, echo);
  using association = await UdpAssociation.open(weir.address('socks'));
  association.send(udp.target, 'hello');
  await association.receive();
  const { client: mux, link } = await muxOver(weir.address('vless'));
  await mux.open(1, echo.target, 'hello');
  assert.equal(await mux.data(1, 5), 'hello');
  weir.child.signal('SIGTERM');
  await weir.child.until(
    'the begin of its stop',
    ({ stderr }) =>
      stderr.includes('svc_app: 3 flows have 1h to end; another signal ends them at once\n') ||
      undefined,
  );
  await eventually('closed listeners', () => refuses(weir.address('vless')));
  const fixed = config
    .replace('port = 0', `port = ${portOf(weir.address('socks'))}`)
    .replace('port = 0', `port = ${portOf(weir.address('vless'))}`);
  await using next = await Weir.start(fixed, HAS_SOCKET);
  (await socksConnect(next.address('socks'), echo.target)).destroy();

  assert.equal(String(await roundTrip(flow, 'goes on')), 'goes on');
  association.send(udp.target, 'goes on');
  await association.receive();
  // Nothing but this process could take it.
  await mux.open(2, echo.target, 'again');
  assert.equal(await mux.data(2, 5), 'again');
  link.destroy();
  association.control.destroy();
  flow.destroy();
  assert.deepEqual(await within(weir.child.exited, 'its end'), { code: 0, signal: null });
  assert.doesNotMatch(weir.child.stderr, /cut \d/);
});

test('a stop says how many flows it has cut, also one that ends at once by a second signal', async () => {
  await using echo = await echoServer();
  const stopped = async (args: readonly string[], ...more: NodeJS.Signals[]): Promise<string> => {
    await using weir = await Weir.start(socksIn() + freedom(), { args });
    const flows = [0, 1].map(() => openFlow(weir, echo));
    for (const flow of await Promise.all(flows)) flow.on('error', () => undefined).resume();
    weir.child.signal('SIGINT');
    await weir.child.until(
      'the stop',
      ({ stderr }) => stderr.includes('shutting down') || undefined,
    );
    for (const signal of more) weir.child.signal(signal);
    assert.deepEqual(await within(weir.child.exited, 'its end'), { code: 0, signal: null });
    return weir.child.stderr;
  };
  assert.match(
    await stopped(['--grace', '1s']),
    / WARN svc_app: cut 2 flows that were still open after 1s\n$/,
  );
  assert.match(
    await stopped(['--grace', '0']),
    / WARN svc_app: cut 2 flows that were still open\n$/,
  );
  assert.match(await stopped([], 'SIGTERM'), / WARN svc_app: cut 2 flows that were still open\n$/);
  assert.match(
    await stopped(['--grace', '1d'], 'SIGINT'),
    / WARN svc_app: cut 2 flows that were still open\n$/,
  );
});

test('a process that drains stops at once when nothing is left, and within the grace period otherwise', async () => {
  await using echo = await echoServer();
  await using weir = await Weir.start(socksIn() + freedom(), {
    ...HAS_SOCKET,
    args: ['--grace', '0s'],
  });
  const flow = await openFlow(weir, echo);
  flow.on('error', () => undefined).resume();
  await begin(weir);
  assert.deepEqual(await weir.stop(), { code: 0, signal: null });
  assert.match(weir.child.stderr, /cut 1 flow that was still open\n$/);

  await using idle = await Weir.start(socksIn() + freedom(), {
    ...HAS_SOCKET,
    args: ['--grace', '1d'],
  });
  await begin(idle);
  assert.deepEqual(await idle.stop(), { code: 0, signal: null });
});
