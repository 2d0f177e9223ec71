import assert from 'node:assert/strict';
import { connect as tlsConnect, createSecureContext, type TLSSocket } from 'node:tls';
import { join } from 'node:path';
import test from 'node:test';
import { Duplex } from 'node:stream';
import { SNIFF_TIMEOUT_MS } from '../../packages/proxy/src/engine/sniff.ts';
import { freedom, proxyOut, rule, socksIn } from '../support/process/config.ts';
import { readAll, readExactly } from '../support/read.ts';
import { recorder } from '../support/peers/recorder.ts';
import { bannerServer, echoServer } from '../support/peers/servers.ts';
import { socksConnect } from '../support/peers/socks-client.ts';
import { Weir } from '../support/process/weir.ts';

/** A client may take its time until its first bytes are complete. */
const PATIENT = {
  nodeArgs: ['--import', join(import.meta.dirname, '../support/process/no-long-timers.ts')],
  env: { WEIR_TEST_LONG_TIMERS_MS: String(SNIFF_TIMEOUT_MS) },
};

const RULE = rule('named', 'domain_suffix = ["sniffed.example"]');
/** A destination given as an address: only what the client sends can contain its name. */
const TARGET = { host: '192.0.2.1', port: 443 };

const request = (host: string): Buffer =>
  Buffer.from(`GET / HTTP/1.1\r\nUser-Agent: test\r\nHost: ${host}\r\n\r\n`);

test('the name in the first bytes decides the route of a flow to an address', async (t) => {
  await using named = await recorder('named');
  await using plain = await recorder('plain');
  const config = [
    socksIn('socks'),
    socksIn('blind', 'sniffing = false'),
    proxyOut('plain', 'socks', plain.target),
    proxyOut('named', 'socks', named.target),
    RULE,
  ].join('\n');
  await using weir = await Weir.start(config);
  await using patient = await Weir.start(config, PATIENT);
  const hello = await clientHello('www.sniffed.example');
  const cases: readonly (readonly [string, Buffer | undefined, string])[] = [
    ['an HTTP Host', request('sniffed.example'), 'named'],
    ['another HTTP Host', request('other.example'), 'plain'],
    ['a TLS server name', hello, 'named'],
    ['bytes of no known kind', Buffer.from([0, 1, 2, 3, 4, 5, 6, 7]), 'plain'],
    ['a client that sends nothing', undefined, 'plain'],
  ];
  for (const [name, first, outbound] of cases) {
    await t.test(`${name} is routed to ${outbound}`, async () => {
      const sniffing = outbound === 'named' ? patient : weir;
      assert.equal(await taken(sniffing, 'socks', first), outbound);
    });
  }
  await t.test('an inbound that does not sniff routes by address', async () => {
    assert.equal(await taken(weir, 'blind', hello), 'plain');
  });
  await t.test('the outbound gets the address, not the name', () => {
    for (const { host } of named.targets) assert.equal(host, TARGET.host);
  });
});

test('all sniffed bytes reach the server once', async () => {
  await using echo = await echoServer();
  await using elsewhere = await recorder('elsewhere');
  const config = [
    socksIn(),
    proxyOut('elsewhere', 'socks', elsewhere.target),
    freedom('named'),
    RULE,
  ].join('\n');
  await using weir = await Weir.start(config, PATIENT);
  const client = await socksConnect(weir.address('socks'), echo.target);
  const bytes = Buffer.concat([request('sniffed.example'), Buffer.alloc(100_000, 'x')]);
  client.end(bytes);
  const { data, clean } = await readAll(client);
  assert.ok(data.equals(bytes));
  assert.ok(clean);
});

test('the bytes of a server that sends first reach a client that waits for them', async () => {
  await using server = await bannerServer('220 ready\r\n');
  await using weir = await Weir.start(socksIn() + freedom() + freedom('named') + RULE);
  const client = await socksConnect(weir.address('socks'), server.target);
  assert.equal(String(await readExactly(client, 11)), '220 ready\r\n');
  client.destroy();
});

/** Sends the first bytes, and hears which outbound it was. */
async function taken(weir: Weir, inbound: string, first: Buffer | undefined): Promise<string> {
  const socket = await socksConnect(weir.address(inbound), TARGET);
  try {
    if (first) socket.write(first);
    return String((await readAll(socket)).data);
  } finally {
    socket.destroy();
  }
}

/** The first flight of a real TLS client, as Node's own library writes it. */
async function clientHello(servername: string): Promise<Buffer> {
  const { promise, resolve } = Promise.withResolvers<Buffer>();
  const wire = new Duplex({
    read: () => undefined,
    write: (chunk: Buffer, _encoding, done) => {
      resolve(chunk);
      done();
    },
  });
  const tls: TLSSocket = tlsConnect({
    socket: wire,
    servername,
    secureContext: createSecureContext(),
  });
  tls.on('error', () => undefined);
  const hello = await promise;
  tls.destroy();
  return hello;
}
