import assert from 'node:assert/strict';
import { once } from 'node:events';
import * as http2 from 'node:http2';
import { connect as connectTcp } from 'node:net';
import { test } from 'node:test';
import { connect as connectTls, TLSSocket } from 'node:tls';
import { RegexCache } from '@weir/proxy/names';
import { silentLogger } from '@weir/base/log';
import { systemClock } from '@weir/io/time';
import { OwnListeners } from '@weir/io/net/own-listeners';
import type { InboundSpec, InboundStreamSpec, TlsServerSpec } from '@weir/proxy/spec';
import { Supervisor } from '../../../src/supervisor/supervisor.ts';
import { encodeHunks } from '../../../../proxy/src/transports/grpc/hunks.ts';
import { freePort } from '../../../../../test/support/ports.ts';
import { readExactly, readHead } from '../../../../../test/support/read.ts';
import { inboundSpec, spec, wantedOf } from '../../../../../test/support/data/specs.ts';
import {
  TestAuthority,
  type TestCertificate,
} from '../../../../../test/support/data/test-certificates.ts';

/** Stream settings of an inbound change by a reload while its address stays. */

const authority = new TestAuthority();
const issue = (): TestCertificate => authority.issue({ dns: ['server.test'] });
const tlsOf = ({ cert, key }: TestCertificate): TlsServerSpec => ({ certificates: cert, key });
const grpc = (tls: TlsServerSpec | undefined, serviceName = 'Gun'): InboundStreamSpec => ({
  tls,
  carrier: { kind: 'grpc', serviceName },
});

/** SOCKS5 greetings and what an inbound responds: its settings show in it. */
const GREETING = Buffer.of(5, 1, 0);
const OPEN = '0500';
const LOCKED = '05ff';
const LOCKED_SETTINGS = {
  auth: 'password',
  accounts: [{ user: 'ann', pass: 'x' }],
  udp: true,
  udpBind: undefined,
} as const;

/** A supervisor with one SOCKS inbound, whose stream settings and more are changed. */
class Inbound implements AsyncDisposable {
  readonly port: number;
  readonly #supervisor: Supervisor;

  private constructor(port: number) {
    this.port = port;
    this.#supervisor = new Supervisor({
      clock: systemClock,
      log: silentLogger,
      regexes: new RegexCache(),
      ownListeners: new OwnListeners(),
    });
  }

  static async open(stream: InboundStreamSpec): Promise<Inbound> {
    const inbound = new Inbound(await freePort());
    await inbound.apply(stream);
    return inbound;
  }

  async apply(stream: InboundStreamSpec, over: Partial<InboundSpec> = {}): Promise<void> {
    const listen = { kind: 'ip', host: '127.0.0.1', port: this.port } as const;
    const inbounds = [inboundSpec('in', { listen, stream, ...over })];
    await this.#supervisor.apply(wantedOf(spec({ inbounds })));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#supervisor.stop(0);
  }
}

/** One connection of a client of Node's own. */
class Client implements Disposable {
  readonly session: http2.ClientHttp2Session;
  goneAway = false;

  constructor({ port }: Inbound, scheme: 'http' | 'https') {
    this.session = http2.connect(`${scheme}://127.0.0.1:${port}`, {
      ca: authority.cert,
      servername: 'server.test',
    });
    this.session.on('error', () => undefined);
    this.session.on('goaway', () => (this.goneAway = true));
  }

  get certificate(): Buffer | undefined {
    const { socket } = this.session;
    return socket instanceof TLSSocket ? socket.getPeerCertificate().raw : undefined;
  }

  call(serviceName = 'Gun'): http2.ClientHttp2Stream {
    const stream = this.session.request(
      { ':method': 'POST', ':path': `/${serviceName}/Tun`, 'content-type': 'application/grpc' },
      { endStream: false },
    );
    stream.on('error', () => undefined);
    return stream;
  }

  [Symbol.dispose](): void {
    this.session.destroy();
  }
}

/** Greets a SOCKS server through a call; the method that it chooses, in hexadecimal. */
async function greets(call: http2.ClientHttp2Stream): Promise<string> {
  for (const piece of encodeHunks(GREETING)) call.write(piece);
  const [chunk] = (await once(call, 'data')) as [Buffer];
  return chunk.subarray(-2).toString('hex');
}

async function statusOf(call: http2.ClientHttp2Stream): Promise<string | undefined> {
  const [headers] = (await once(call, 'response')) as [http2.IncomingHttpHeaders];
  return headers['grpc-status'] as string | undefined;
}

test('a new certificate leaves HTTP/2 connections open, and their new calls get the new handler', async () => {
  await using inbound = await Inbound.open(grpc(tlsOf(issue())));
  using client = new Client(inbound, 'https');
  const early = client.call();
  await once(early, 'response');
  await inbound.apply(grpc(tlsOf(issue())), { settings: LOCKED_SETTINGS });
  // Nothing that the reload may have sent has been read by now.
  assert.equal(await greets(client.call()), LOCKED);
  assert.equal(await greets(early), OPEN);
  assert.equal(client.goneAway, false);
  using other = new Client(inbound, 'https');
  assert.equal(await greets(other.call()), LOCKED);
  assert.ok(client.certificate && other.certificate);
  assert.notDeepEqual(other.certificate, client.certificate);
});

test('a new service name applies to new calls of open connections', async () => {
  await using inbound = await Inbound.open(grpc(undefined));
  using client = new Client(inbound, 'http');
  const early = client.call();
  await once(early, 'response');
  await inbound.apply(grpc(undefined, 'Other'));
  assert.equal(await greets(client.call('Other')), OPEN);
  assert.equal(await statusOf(client.call('Gun')), '12');
  assert.equal(await greets(early), OPEN);
  assert.equal(client.goneAway, false);
});

test('without its TLS an inbound announces the end of its HTTP/2 connections, whose calls go on', async () => {
  await using inbound = await Inbound.open(grpc(tlsOf(issue())));
  using client = new Client(inbound, 'https');
  const early = client.call();
  await once(early, 'response');
  const goneAway = once(client.session, 'goaway');
  await inbound.apply(grpc(undefined));
  await goneAway;
  assert.equal(await greets(early), OPEN);
  using other = new Client(inbound, 'http');
  assert.equal(await greets(other.call()), OPEN);
});

test('calls that are on their way when a listener moves are served', async () => {
  await using inbound = await Inbound.open(grpc(undefined));
  using client = new Client(inbound, 'http');
  assert.equal(await greets(client.call()), OPEN);
  const goneAway = once(client.session, 'goaway');
  const listen = { kind: 'ip', host: '127.0.0.1', port: await freePort() } as const;
  await inbound.apply(grpc(undefined), { listen });
  // Nothing that the reload has sent has been read by now.
  const calls = [client.call(), client.call()];
  await goneAway;
  for (const call of calls) assert.equal(await greets(call), OPEN);
});

test('an HTTP/2 connection without a call may make its first one after its listener has moved', async () => {
  await using inbound = await Inbound.open(grpc(undefined));
  using client = new Client(inbound, 'http');
  await once(client.session, 'remoteSettings');
  const listen = { kind: 'ip', host: '127.0.0.1', port: await freePort() } as const;
  await inbound.apply(grpc(undefined), { listen });
  const goneAway = once(client.session, 'goaway');
  const early = client.call();
  await goneAway;
  assert.equal(await greets(early), OPEN);
});

test('a TLS handshake under way ends with the certificate that it began with, and is served', async () => {
  const stream = (certificate: TestCertificate): InboundStreamSpec => ({
    tls: tlsOf(certificate),
    carrier: { kind: 'raw' },
  });
  const first = issue();
  await using inbound = await Inbound.open(stream(first));
  const handshake = (): TLSSocket =>
    connectTls({
      socket: connectTcp(inbound.port, '127.0.0.1'),
      ca: authority.cert,
      servername: 'server.test',
    });
  const early = connectTcp(inbound.port, '127.0.0.1');
  await once(early, 'connect');
  // Connections are accepted in their order.
  const second = handshake();
  await once(second, 'secureConnect');
  await inbound.apply(stream(issue()), { settings: LOCKED_SETTINGS });
  const late = connectTls({ socket: early, ca: authority.cert, servername: 'server.test' });
  await once(late, 'secureConnect');
  assert.deepEqual(late.getPeerCertificate().raw, second.getPeerCertificate().raw);
  late.write(GREETING);
  assert.equal((await readExactly(late, 2)).toString('hex'), LOCKED);
  for (const socket of [second, late]) socket.destroy();
});

test('a WebSocket handshake under way ends by the settings that it began with, and is served', async () => {
  const stream = (path: string): InboundStreamSpec => ({
    tls: undefined,
    carrier: { kind: 'ws', path, host: undefined },
  });
  const upgrade = (path: string): string =>
    [
      `GET ${path} HTTP/1.1`,
      'Host: server.test',
      'Upgrade: websocket',
      'Connection: Upgrade',
      'Sec-WebSocket-Version: 13',
      'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
      '\r\n',
    ].join('\r\n');
  await using inbound = await Inbound.open(stream('/old'));
  const early = connectTcp(inbound.port, '127.0.0.1');
  const request = upgrade('/old');
  early.write(request.slice(0, 20));
  // Connections are accepted in their order.
  const second = connectTcp(inbound.port, '127.0.0.1');
  second.write(request);
  assert.match(await readHead(second), /^HTTP\/1\.1 101 /);
  await inbound.apply(stream('/new'), { settings: LOCKED_SETTINGS });
  early.write(request.slice(20));
  assert.match(await readHead(early), /^HTTP\/1\.1 101 /);
  // A masked binary frame, whose mask is zero.
  early.write(Buffer.concat([Buffer.of(0x82, 0x83, 0, 0, 0, 0), GREETING]));
  assert.equal((await readExactly(early, 4)).subarray(2).toString('hex'), LOCKED);
  for (const path of ['/old', '/new']) {
    const late = connectTcp(inbound.port, '127.0.0.1');
    late.write(upgrade(path));
    assert.match(await readHead(late), path === '/new' ? /^HTTP\/1\.1 101 / : /^HTTP\/1\.1 404 /);
    late.destroy();
  }
  for (const socket of [early, second]) socket.destroy();
});

test('a reload with a certificate that cannot be used changes nothing', async () => {
  await using inbound = await Inbound.open(grpc(tlsOf(issue())));
  using client = new Client(inbound, 'https');
  assert.equal(await greets(client.call()), OPEN);
  const { cert } = issue();
  const { key } = issue();
  await assert.rejects(inbound.apply(grpc(tlsOf({ cert, key }), 'Other')), {
    code: 'build_failed',
  });
  assert.equal(await greets(client.call()), OPEN);
  assert.equal(client.goneAway, false);
});
