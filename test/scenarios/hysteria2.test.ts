import assert from 'node:assert/strict';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import test from 'node:test';
import { SystemRandomSource } from '@weir/base/random';
import { Http3Client } from '@weir/http/http3';
import { systemClock } from '@weir/io/time';
import { authenticationRequest } from '../../packages/proxy/src/protocols/hysteria2/authentication.ts';
import { dialServer } from '../../packages/proxy/src/protocols/hysteria2/quic-endpoints.ts';
import { ASSOCIATIONS_A_CONNECTION } from '../../packages/proxy/src/protocols/hysteria2/limits.ts';
import {
  decodeUdpMessage,
  encodeUdpMessage,
} from '../../packages/proxy/src/protocols/hysteria2/wire.ts';
import { QuicClientTls } from '../../packages/proxy/src/transports/tls/quic.ts';
import { hostPort, portOf, type Address } from '../support/data/address.ts';
import { freedom, socksIn } from '../support/process/config.ts';
import { API, Control, errorOf } from '../support/process/control.ts';
import { bothWays, datagrams, manyStreams, socksHalfCloses } from '../support/programs/exchange.ts';
import { freePort } from '../support/ports.ts';
import { bodyOf, receiveBody, sendBody } from '../support/data/pattern.ts';
import { openDescriptors } from '../support/process/proc.ts';
import { readAll, roundTrip } from '../support/read.ts';
import { echoServer, sendFirstServer, udpEcho, webServer } from '../support/peers/servers.ts';
import { socksConnect, SocksRefused } from '../support/peers/socks-client.ts';
import { UdpAssociation } from '../support/peers/socks-udp.ts';
import { UdpRelay } from '../support/peers/udp-relay.ts';
import { eventually, within } from '../support/wait.ts';
import { certificate, renewCertificate, SERVER_NAME } from '../support/ways/certificate.ts';
import { Weir } from '../support/process/weir.ts';

const LOG = { env: { RUST_LOG: 'debug' } };
const BODY = 8 << 20;
/** Datagrams of a dial to a silent server, after which QUIC's own backoff has grown to eight seconds. */
const FIRST_PACKETS = 8;

const { certFile, keyFile, caFile } = certificate();
const TLS = `cert_file = "${certFile}"\nkey_file = "${keyFile}"\n`;

const hysteriaIn = (settings: string, port = 0): string =>
  `[[inbound]]\ntag = "hy"\nprotocol = "hysteria2"\nport = ${port}\n[inbound.settings]\n${TLS}${settings}\n`;

const hysteriaOut = (server: Address, settings: string): string =>
  `[[outbound]]\ntag = "out"\nprotocol = "hy2"\nserver = "127.0.0.1"\nport = ${portOf(server)}\n` +
  `[outbound.settings]\nserver_name = "${SERVER_NAME}"\nca_file = "${caFile}"\n${settings}\n`;

const PASSWORD = 'password = "sesame"';

/** A server with its API. */
async function startServer(settings: string, port = 0) {
  const weir = await Weir.start(API + hysteriaIn(settings, port) + freedom(), LOG);
  return Control.of(weir);
}

const startClient = (server: Address, settings = PASSWORD): Promise<Weir> =>
  Weir.start(socksIn() + hysteriaOut(server, settings), LOG);

/** A line of the log, which comes by another way than the response of the same time. */
const logged = (weir: Weir, line: RegExp): Promise<true> =>
  weir.child.until(String(line), ({ stderr }) => line.test(stderr) || undefined);

test('two Weirs in a chain over Hysteria 2', async (t) => {
  const users = 'users = [{ user = "mia", pass = "x:y", email = "mia@example.com" }]\nudp = true';
  for (const obfs of ['', '\nobfs = "salamander"\nobfs_password = "cry me a river"']) {
    const name = obfs === '' ? '' : ', under Salamander';
    const exit = await startServer(users + obfs);
    await using _exit = exit.weir;
    await using entry = await startClient(exit.weir.address('hy'), `password = "Mia:x:y"${obfs}`);
    const socks = entry.address('socks');

    await t.test(`carry a body each way${name}`, async () => {
      await using web = await webServer();
      await bothWays(['-x', `socks5h://${hostPort(socks)}`], web, BODY);
    });
    await t.test(`pass on half-closes both ways${name}`, () => socksHalfCloses(socks));
    await t.test(`carry datagrams${name}`, async () => {
      await using first = await udpEcho();
      await using second = await udpEcho();
      await datagrams(socks, [first, second]);
    });
    await t.test(`carry 1,000 streams at once${name}`, () => manyStreams(socks, 1000));
    await t.test(`report why a destination was not reached${name}`, async () => {
      await assert.rejects(socksConnect(socks, { host: '127.0.0.1', port: 1 }), SocksRefused);
      const reason = /by out: 127\.0\.0\.1:\d+: 127\.0\.0\.1:1: connection refused/;
      await logged(entry, reason);
    });
    await t.test(`a flow and a sub-link can be killed alone${name}`, async () => {
      await using echo = await echoServer();
      await using udp = await udpEcho();
      const doomed = await socksConnect(socks, echo.target);
      const other = await socksConnect(socks, echo.target);
      doomed.on('error', () => undefined);
      using association = await UdpAssociation.open(socks);
      const exchange = async (text: string): Promise<string> => {
        association.send(udp.target, Buffer.from(text));
        return String((await association.receive()).data);
      };
      await roundTrip(doomed, 'hello');
      await roundTrip(other, 'hello');
      assert.equal(await exchange('hello'), 'hello');
      const { flows: all, sessions } = await exit.connections();
      // Of earlier associations the server learns by their silence.
      const flows = all.filter(({ port }) => port === echo.target.port || port === udp.target.port);
      assert.equal(sessions.length, 1);
      assert.deepEqual(
        [sessions[0]?.inbound, sessions[0]?.user, sessions[0]?.source],
        ['hy', 'mia@example.com', '127.0.0.1'],
      );
      assert.deepEqual(
        flows.map(({ user, session, network }) => [user, session === sessions[0]?.id, network]),
        [
          ['mia@example.com', true, 'tcp'],
          ['mia@example.com', true, 'tcp'],
          ['mia@example.com', true, 'udp'],
        ],
      );
      const [stream, , link] = flows;
      for (const flow of [stream, link]) {
        const { status } = await exit.api.ask('DELETE', `/v1/connections/${flow?.id}`);
        assert.equal(status, 204);
      }
      assert.equal((await readAll(doomed)).clean, false);
      assert.equal(String(await roundTrip(other, 'still here')), 'still here');
      assert.equal(await exchange('again'), 'again');
      other.destroy();
    });
  }
});

test('a reload swaps what it can under live clients, and refuses the rest', async (t) => {
  const config = (settings: string): string => API + hysteriaIn(settings) + freedom();
  const accounts = (...names: string[]): string =>
    `users = [${names.map((name) => `{ user = "${name}", pass = "x" }`).join(', ')}]`;
  const server = await startServer(accounts('ann', 'bob'));
  await using _server = server.weir;
  const address = server.weir.address('hy');
  await using ann = await startClient(address, 'password = "ann:x"');
  await using echo = await echoServer();
  const live = await socksConnect(ann.address('socks'), echo.target);
  await roundTrip(live, 'hello');
  const stillLives = async (): Promise<void> => {
    assert.equal(String(await roundTrip(live, 'still here')), 'still here');
    const other = await socksConnect(ann.address('socks'), echo.target);
    assert.equal(String(await roundTrip(other, 'another')), 'another');
    other.destroy();
  };

  await t.test(
    'users: a removed one keeps its flow, opens no other and does not come again, until it is back',
    async () => {
      const report = await server.apply(config(accounts('bob')));
      assert.deepEqual([report.swapped, report.restarted], [['hy'], []]);
      assert.ok(report.built.includes('user set hy'));
      assert.equal(String(await roundTrip(live, 'still here')), 'still here');
      await assert.rejects(socksConnect(ann.address('socks'), echo.target), SocksRefused);
      await logged(ann, /: the account has been removed/);
      await using again = await startClient(address, 'password = "ann:x"');
      await assert.rejects(socksConnect(again.address('socks'), echo.target), SocksRefused);
      await logged(again, /the server rejected the password \(HTTP status 404\)/);
      await server.apply(config(accounts('ann', 'bob')));
      await stillLives();
    },
  );

  await t.test('a renewed certificate', async () => {
    renewCertificate();
    const report = await server.apply(config(accounts('ann', 'bob')));
    assert.deepEqual([report.swapped, report.restarted], [['hy'], []]);
    await stillLives();
    await using bob = await startClient(address, 'password = "bob:x"');
    const socket = await socksConnect(bob.address('socks'), echo.target);
    assert.equal(String(await roundTrip(socket, 'hello')), 'hello');
    socket.destroy();
    await bob.stop();
  });

  await t.test('the masquerade', async () => {
    const report = await server.apply(
      config(`${accounts('ann', 'bob')}\n[inbound.settings.masquerade]\nstatus = 200`),
    );
    assert.deepEqual([report.swapped, report.restarted], [['hy'], []]);
    assert.equal((await probe(address, 'GET', '/')).status, 200);
    await stillLives();
  });

  await t.test('sniffing', async () => {
    const unsniffed = config(accounts('ann', 'bob')).replace(
      'port = 0',
      'port = 0\nsniffing = false',
    );
    const report = await server.apply(unsniffed);
    assert.deepEqual([report.swapped, report.restarted], [['hy'], []]);
    await stillLives();
  });

  const obfuscated = `${accounts('bob')}\nobfs = "salamander"\nobfs_password = "four"`;
  await t.test('not the obfuscation', async () => {
    const reason =
      'inbound hy: obfs changed, which would end its live connections; restart to apply it';
    await server.write(config(obfuscated) + socksIn('more'));
    const reply = await server.post();
    assert.equal(reply.status, 422);
    assert.equal(errorOf(reply), reason);
    await logged(server.weir, new RegExp(`reload refused, keeping the running config: ${reason}`));
    assert.equal(server.weir.addresses.has('more'), false);
    assert.equal((await probe(address, 'GET', '/')).status, 404);
    await stillLives();
  });

  await t.test('the obfuscation when no client is left', async () => {
    live.destroy();
    await ann.stop();
    await eventually(
      'the end of the session',
      async () => (await server.connections()).sessions.length === 0,
    );
    const report = await server.apply(config(`${obfuscated}\n# again`));
    assert.deepEqual([report.restarted, report.swapped], [['hy'], []]);
    const key = 'obfs = "salamander"\nobfs_password = "four"';
    await using bob = await startClient(address, `password = "bob:x"\n${key}`);
    const socket = await socksConnect(bob.address('socks'), echo.target);
    assert.equal(String(await roundTrip(socket, 'hello')), 'hello');
    await server.write(config(obfuscated.replace('four', 'five')));
    const reply = await server.post();
    assert.equal(reply.status, 422);
    assert.match(errorOf(reply), /inbound hy: obfs_password changed/);
    assert.equal(String(await roundTrip(socket, 'still here')), 'still here');
  });
});

test('a stopped server says goodbye, and its clients come back to the next one', async () => {
  const first = await startServer(PASSWORD);
  const address = first.weir.address('hy');
  await using client = await startClient(address);
  await using echo = await echoServer();
  const open = (): Promise<Awaited<ReturnType<typeof socksConnect>>> =>
    socksConnect(client.address('socks'), echo.target);
  const live = await open();
  live.on('error', () => undefined);
  await roundTrip(live, 'hello');
  await first.weir.stop();
  assert.equal((await readAll(live)).clean, false);
  await first.weir[Symbol.asyncDispose]();
  const second = await startServer(PASSWORD, portOf(address));
  await using _second = second.weir;
  const socket = await open();
  assert.equal(String(await roundTrip(socket, 'hello again')), 'hello again');
  socket.destroy();
});

test('flows that join a dial to a server that was down are served once it is up', async () => {
  const silent = createSocket('udp4');
  await once(silent.bind(0, '127.0.0.1'), 'listening');
  const { port } = silent.address();
  let datagrams = 0;
  silent.on('message', () => datagrams++);
  await using client = await startClient({ host: '127.0.0.1', port });
  await using echo = await echoServer();
  const open = async (): Promise<void> => {
    const socket = await socksConnect(client.address('socks'), echo.target);
    assert.equal(String(await roundTrip(socket, 'hello')), 'hello');
    socket.destroy();
  };
  const first = open();
  first.catch(() => undefined);
  await eventually('the first packets', () => datagrams >= FIRST_PACKETS);
  silent.close();
  await once(silent, 'close');
  const server = await startServer(PASSWORD, port);
  await using _server = server.weir;
  await open();
  await first;
});

test('a client that moves to another address in the middle of a download', async () => {
  const SIZE = 16 << 20;
  // A client without Salamander moves in test/interop/aioquic.test.ts.
  const settings = `${PASSWORD}\nobfs = "salamander"\nobfs_password = "cry me a river"`;
  const server = await startServer(settings);
  await using _server = server.weir;
  await using relay = await UdpRelay.start(server.weir.address('hy'));
  await using client = await startClient(relay.address, settings);
  await using origin = await sendFirstServer(SIZE);
  const socket = await socksConnect(client.address('socks'), origin.target);
  const source = async (): Promise<unknown> => (await server.connections()).sessions[0]?.source;
  assert.equal(await source(), '127.0.0.1');
  let received = 0;
  let moved: Promise<void> | undefined;
  socket.on('data', (chunk: Buffer) => {
    received += chunk.length;
    if (received > SIZE / 4) moved ??= relay.move('127.0.0.2');
  });
  assert.deepEqual(await receiveBody(socket), bodyOf(SIZE));
  await moved;
  await eventually('the new source', async () => (await source()) === '127.0.0.2');
  const { sessions, flows } = await server.connections();
  assert.deepEqual([sessions.length, flows.length], [1, 1]);
  // The other direction of the same flow.
  const sent = await sendBody(socket, SIZE / 4, 2);
  const movedAgain = relay.move('127.0.0.3');
  socket.end();
  assert.deepEqual(await within(origin.received, 'the upload'), sent);
  await movedAgain;
  await eventually('the third source', async () => (await source()) === '127.0.0.3');
});

test('a client says why it does not trust a server', async () => {
  const server = await startServer(PASSWORD);
  await using _server = server.weir;
  const address = server.weir.address('hy');
  for (const [settings, reason] of [
    [`server_name = "other.test"\nca_file = "${caFile}"`, /TLS: .*(name|host)/i],
    [`server_name = "${SERVER_NAME}"`, /TLS: unable to verify/],
    [`ca_file = "${keyFile}"`, /hysteria2: the CA file contains no certificates/],
  ] as const) {
    const out =
      `[[outbound]]\ntag = "out"\nprotocol = "hysteria"\nserver = "127.0.0.1"\n` +
      `port = ${portOf(address)}\n[outbound.settings]\n${PASSWORD}\n${settings}\n`;
    await using client = await Weir.start(socksIn() + out, LOG);
    const target = { host: '127.0.0.1', port: 1 };
    await assert.rejects(socksConnect(client.address('socks'), target), SocksRefused);
    await logged(client, reason);
  }
});

test('a request that goes round through the own inbound ends after 16 of them', async () => {
  const port = await freePort();
  const config =
    socksIn() + hysteriaIn(PASSWORD, port) + hysteriaOut({ host: '127.0.0.1', port }, PASSWORD);
  await using weir = await Weir.start(config, LOG);
  const target = { host: '127.0.0.1', port: 1 };
  await assert.rejects(socksConnect(weir.address('socks'), target), SocksRefused);
  const reason = /by out: 127\.0\.0\.1:\d+: the request has passed 16 inbounds of this proxy/;
  await logged(weir, reason);
});

test('a prober sees one web server, whatever it requests', async () => {
  const server = await startServer(PASSWORD);
  await using _server = server.weir;
  const address = server.weir.address('hy');
  for (const [method, path] of [
    ['GET', '/'],
    ['HEAD', '/auth'],
    ['POST', '/auth'],
    ['POST', '/index.php?x=1'],
    ['OPTIONS', '/'],
  ] as const) {
    const { status, fields } = await probe(address, method, path);
    assert.equal(status, 404);
    assert.deepEqual(
      fields.filter(({ name }) => name !== 'date'),
      [
        { name: 'content-type', value: 'text/plain; charset=utf-8' },
        { name: 'content-length', value: '19' },
      ],
    );
  }
  const wrong = authenticationRequest('wrong', new SystemRandomSource());
  assert.equal((await request(address, wrong)).status, 404);
  assert.deepEqual((await server.connections()).sessions, []);
  await logged(server.weir, /inbound hy: rejected 127\.0\.0\.1: its credential is wrong/);
});

test('a masquerade may have a long body and the status of an interim response', async () => {
  const body = 'a page that is longer than most\n'.repeat(10_000);
  const masquerade = `[inbound.settings.masquerade]\nstatus = 103\nbody = """\n${body}"""\n`;
  const server = await startServer(`${PASSWORD}\n${masquerade}`);
  await using _server = server.weir;
  const { status, fields } = await probe(server.weir.address('hy'), 'GET', '/');
  assert.equal(status, 200);
  const length = fields.find(({ name }) => name === 'content-length');
  assert.equal(length?.value, String(body.length));
});

test('UDP sessions of one client leave descriptors to others', async () => {
  const server = await startServer(`${PASSWORD}\nudp = true`);
  await using _server = server.weir;
  await using echo = await udpEcho();
  const pid = server.weir.child.pid;
  const before = openDescriptors(pid);
  const answered = new Set<number>();
  await using client = await dial(server.weir.address('hy'), (data) => {
    answered.add(decodeUdpMessage(data)?.sessionId ?? -1);
  });
  const random = new SystemRandomSource();
  const { status } = await client.http.request(authenticationRequest('sesame', random));
  assert.equal(status, 233);
  const packet = { packetId: 0, fragmentId: 0, fragmentCount: 1, data: Buffer.of(1) };
  const address = Buffer.from(hostPort(echo.target));
  for (let first = 0; first < 3 * ASSOCIATIONS_A_CONNECTION; first += 128) {
    const ids = Array.from({ length: 128 }, (_, index) => first + index);
    await eventually('an answer to each', () => {
      const missing = ids.filter((id) => !answered.has(id));
      for (const sessionId of missing) {
        client.connection.sendDatagram(encodeUdpMessage({ ...packet, sessionId, address }));
      }
      return missing.length === 0;
    });
  }
  assert.ok(openDescriptors(pid) <= before + ASSOCIATIONS_A_CONNECTION);
});

const probe = (to: Address, method: string, path: string) =>
  request(to, { method, path, scheme: 'https', authority: SERVER_NAME, fields: [] });

/** Sends one request on a connection of its own. */
async function request(to: Address, head: Parameters<Http3Client['request']>[0]) {
  await using client = await dial(to);
  return await client.http.request(head);
}

/** A connection that is not authenticated. */
async function dial(to: Address, onDatagram: (data: Uint8Array) => void = () => undefined) {
  const ca = { file: caFile, certificates: [readFileSync(caFile, 'utf8')] };
  const tls = new QuicClientTls({ serverName: SERVER_NAME, allowInsecure: false, ca });
  const late: { http?: Http3Client } = {};
  const { connection } = await dialServer({
    server: { host: '127.0.0.1', port: portOf(to) },
    tls,
    clock: systemClock,
    random: new SystemRandomSource(),
    obfuscation: undefined,
    handlers: { onStream: (stream) => late.http?.accept(stream), onDatagram },
  });
  const http = (late.http = new Http3Client(connection));
  const close = async (): Promise<void> => {
    connection.close(0x100);
    await connection.closed;
    tls[Symbol.dispose]();
  };
  try {
    await connection.established;
  } catch (error) {
    await close();
    throw error;
  }
  return { connection, http, [Symbol.asyncDispose]: close };
}
