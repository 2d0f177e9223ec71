import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { once } from 'node:events';
import { test } from 'node:test';
import * as tls from 'node:tls';
import { OWNED } from '@weir/io/links';
import { DialError } from '@weir/io';
import type { InboundStreamSpec, TlsClientSpec } from '../../../../src/spec.ts';
import {
  checkJoinedReads,
  CarrierPair,
  grpcPair,
  TLS_CLIENT,
  TLS_PAIR,
  TLS_SERVER,
  wsPair,
  type StreamPair,
} from '../../../../../../test/support/links/carriers.ts';
import { ManualClock } from '../../../../../../test/support/manual-clock.ts';
import { TestAuthority } from '../../../../../../test/support/data/test-certificates.ts';

const withClient = (client: Partial<TlsClientSpec>, server = TLS_SERVER): StreamPair => ({
  inbound: { carrier: { kind: 'raw' }, tls: server },
  outbound: { carrier: { kind: 'raw' }, tls: { ...TLS_CLIENT, ...client } },
});

/** Whether a carrier comes about, and works. */
async function works(pair: StreamPair): Promise<void> {
  await using carriers = await CarrierPair.open(pair);
  const { client, server } = await carriers.connect();
  await client.link.write(Buffer.from('hello'));
  assert.equal(String(await server.link.read()), 'hello');
  client.link.destroy();
  server.link.destroy();
}

async function rejected(pair: StreamPair, message: RegExp): Promise<void> {
  await using carriers = await CarrierPair.open(pair);
  await assert.rejects(carriers.dial(), (error) => {
    assert.ok(error instanceof DialError, String(error));
    assert.equal(error.code, 'upstream');
    assert.match(error.message, message);
    return true;
  });
}

test('a name of the certificate is verified', () => works(TLS_PAIR));

test('a name that the certificate does not have is rejected, whatever authority signed it', () =>
  rejected(withClient({ serverName: 'other.test' }), /^127\.0\.0\.1:\d+: TLS: .*altnames/));

test('an IP address is looked for in the certificate, and sent as no SNI', async () => {
  await works(withClient({ serverName: '127.0.0.1' }));
  await rejected(withClient({ serverName: '127.0.0.2' }), /IP: 127\.0\.0\.2 is not in/);
});

test('a certificate of an unknown authority is rejected', () =>
  rejected(withClient({ ca: undefined }), /TLS: .*certificate/));

test('an authority of a file does not verify certificates of another authority', () => {
  const other = new TestAuthority('other');
  const ca = { file: 'x', certificates: [other.cert] };
  return rejected(withClient({ ca }), /TLS: .*certificate/);
});

test('an expired certificate is rejected', () => {
  const authority = new TestAuthority();
  const { cert, key } = authority.issue({ dns: ['server.test'], expired: true });
  const ca = { file: 'x', certificates: [authority.cert] };
  return rejected(withClient({ ca }, { certificates: cert, key }), /expired/);
});

test('insecure takes any certificate under any name', () =>
  works(withClient({ allowInsecure: true, ca: undefined, serverName: 'whatever' })));

/** A client of Node with the properties of its connection. */
async function handshake(
  inbound: InboundStreamSpec,
  options: tls.ConnectionOptions,
): Promise<{ protocol: string | null; alpn: string | false | null } | Error> {
  await using carriers = await CarrierPair.open({ inbound, outbound: undefined });
  const socket = tls.connect({
    host: '127.0.0.1',
    port: carriers.port,
    servername: 'server.test',
    rejectUnauthorized: false,
    ...options,
  });
  try {
    await once(socket, 'secureConnect');
    return { protocol: socket.getProtocol(), alpn: socket.alpnProtocol };
  } catch (error) {
    return error as Error;
  } finally {
    socket.destroy();
  }
}

const RAW: InboundStreamSpec = { carrier: { kind: 'raw' }, tls: TLS_SERVER };
const stream = ({ inbound }: StreamPair): InboundStreamSpec => inbound ?? RAW;

test('TLS 1.2 and 1.3 are served, nothing older', async () => {
  for (const version of ['TLSv1.2', 'TLSv1.3'] as const) {
    const result = await handshake(RAW, { minVersion: version, maxVersion: version });
    if (result instanceof Error) throw result;
    assert.equal(result.protocol, version);
  }
  const old = {
    minVersion: 'TLSv1',
    maxVersion: 'TLSv1.1',
    ciphers: 'DEFAULT@SECLEVEL=0',
  } as const;
  assert.ok((await handshake(RAW, old)) instanceof Error);
});

const ALPN: readonly [
  carrier: InboundStreamSpec,
  offered: string[],
  chosen: string | false | undefined,
][] = [
  [RAW, [], false],
  [RAW, ['h2', 'http/1.1'], 'http/1.1'],
  [RAW, ['h2'], 'h2'],
  [RAW, ['x', 'ftp'], undefined],
  [stream(wsPair(true)), ['h2', 'http/1.1'], 'http/1.1'],
  [stream(wsPair(true)), ['h2'], undefined],
  [stream(wsPair(true)), [], false],
  [stream(grpcPair(true)), ['h2', 'http/1.1'], 'h2'],
  [stream(grpcPair(true)), ['http/1.1', 'h2'], 'h2'],
  [stream(grpcPair(true)), [], false],
];
for (const [inbound, offered, chosen] of ALPN) {
  test(`of [${offered.join()}] a server of ${inbound.carrier.kind} chooses ${chosen ?? 'none'}`, async () => {
    const result = await handshake(inbound, offered.length > 0 ? { ALPNProtocols: offered } : {});
    if (chosen === undefined) {
      assert.ok(result instanceof Error, 'the handshake fails');
      assert.match(result.message, /no application protocol/);
      return;
    }
    if (result instanceof Error) throw result;
    assert.equal(result.alpn, chosen);
  });
}

test('a gRPC server rejects a client that does not offer HTTP/2', async () => {
  const result = await handshake(stream(grpcPair(true)), { ALPNProtocols: ['http/1.1'] });
  assert.ok(result instanceof Error);
});

test('a silent client is disconnected at the limit of the handshake', async () => {
  const clock = new ManualClock();
  await using carriers = await CarrierPair.open(TLS_PAIR, clock);
  const socket = connect({ host: '127.0.0.1', port: carriers.port });
  await once(socket, 'connect');
  // The listener takes the connection in its own time.
  while (clock.timers === 0) await new Promise(setImmediate);
  clock.advance(9_999);
  assert.equal(clock.timers, 1);
  clock.advance(1);
  await once(socket, 'close');
});

test('a client that sends garbage gets an alert and is disconnected', async () => {
  await using carriers = await CarrierPair.open(TLS_PAIR);
  const socket = connect({ host: '127.0.0.1', port: carriers.port });
  socket.on('error', () => undefined);
  const closed = once(socket, 'close');
  socket.resume().write('GET / HTTP/1.1\r\n\r\n');
  await closed;
  const { client, server } = await carriers.connect();
  client.link.destroy();
  server.link.destroy();
});

test('a dial of a silent server fails at the limit of the handshake', async () => {
  const clock = new ManualClock();
  const silent: StreamPair = { ...TLS_PAIR, inbound: undefined };
  await using carriers = await CarrierPair.open(silent, clock);
  const dialled = assert.rejects(carriers.dial(), { code: 'timed_out' });
  const server = await carriers.accept();
  await server.link.read();
  clock.advance(10_000);
  await dialled;
  server.link.destroy();
});

test('a client offers a hybrid key exchange with ML-KEM first', async () => {
  const silent: StreamPair = { ...TLS_PAIR, inbound: undefined };
  await using carriers = await CarrierPair.open(silent);
  const dialled = assert.rejects(carriers.dial());
  const server = await carriers.accept();
  const hello = Buffer.from((await server.link.read()) ?? assert.fail('no ClientHello'));
  // The key share of X25519MLKEM768 with its length.
  assert.ok(hello.includes(Buffer.from('11ec04c0', 'hex')));
  server.link.destroy();
  await dialled;
});

test('an aborted dial leaves nothing behind', async () => {
  const silent: StreamPair = { ...TLS_PAIR, inbound: undefined };
  await using carriers = await CarrierPair.open(silent);
  const abort = new AbortController();
  const dialled = assert.rejects(carriers.dial(abort.signal), { code: 'aborted' });
  const server = await carriers.accept();
  await server.link.read();
  abort.abort(new Error('no longer wanted'));
  await dialled;
  assert.equal(await server.link.read().catch(() => undefined), undefined);
  server.link.destroy();
});

test('the wire counts more than the payload, and both ends count the same', async () => {
  await using carriers = await CarrierPair.open(TLS_PAIR);
  const { client, server } = await carriers.connect();
  await client.link.write(Buffer.alloc(100_000));
  await client.link.closeWrite();
  while (await server.link.read());
  assert.ok(server.wire.bytesRead > 100_000 + 6 * 22);
  assert.equal(server.wire.bytesRead, client.wire.bytesWritten);
  assert.equal(server.remote?.host, '127.0.0.1');
  client.link.destroy();
  server.link.destroy();
});

test('records of one read are handed on together, each byte once and in order', () =>
  checkJoinedReads(TLS_PAIR, 16_384));

test('what is given to TLS can be freed at once', async () => {
  await using carriers = await CarrierPair.open(TLS_PAIR);
  const { client, server } = await carriers.connect();
  const SIZE = 64 << 10;
  const given: Uint8Array[] = [];
  const waits: (Promise<void> | undefined)[] = [];
  // Without waiting: the first goes to TLS at once, the others wait in the stream.
  for (let i = 0; i < 32; i++) {
    const chunk = new Uint8Array(SIZE).fill(i);
    given.push(chunk);
    waits.push(client.link.write(chunk, OWNED));
  }
  assert.equal(given[0]?.buffer.byteLength, 0);
  let received = 0;
  while (received < 32 * SIZE) {
    const chunk = (await server.link.read()) ?? assert.fail('the end');
    for (const byte of chunk) assert.equal(byte, (received++ / SIZE) | 0);
  }
  for (const wait of waits) await wait;
  client.link.destroy();
  server.link.destroy();
});

test('a link aborted with unread bytes does not read as ended', async () => {
  await using carriers = await CarrierPair.open(TLS_PAIR);
  for (let round = 0; round < 5; round++) {
    const { client, server } = await carriers.connect();
    for (let i = 0; i < 128; i++) server.link.write(Buffer.alloc(64 << 10))?.catch(() => undefined);
    const reading = (async () => {
      while ((await client.link.read()) !== undefined);
    })();
    if (round % 2 === 1) server.link.closeWrite().catch(() => undefined);
    server.link.destroy(new Error('aborted'));
    await assert.rejects(reading, /ECONNRESET/);
  }
});
