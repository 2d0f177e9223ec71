import assert from 'node:assert/strict';
import { once } from 'node:events';
import * as http2 from 'node:http2';
import { test } from 'node:test';
import type { DialError } from '@weir/io';
import { asSole, OWNED, type Carrier } from '@weir/io/links';
import { FLOWS_RESUMED_A_TURN } from '../../../../../io/src/net/time/turns.ts';
import { encodeHunks } from '../../../../src/transports/grpc/hunks.ts';
import { readAll } from '../../../../../io/test/conformance/byte-link.ts';
import { UnauthenticatedClients } from '../../../../src/transports/unauthenticated-clients.ts';
import {
  checkJoinedReads,
  CarrierPair,
  grpcPair,
  TLS_PAIR,
  wsPair,
} from '../../../../../../test/support/links/carriers.ts';
import { failureLine } from '../../../../../../test/support/data/harmless-output.ts';
import { Http2Server } from '../../../../../../test/support/peers/http2-server.ts';
import { REQUEST_SILENCE_MS } from '../../../../src/transports/limits.ts';
import { ManualClock } from '../../../../../../test/support/manual-clock.ts';

const GRPC = 'application/grpc';
const never = new AbortController().signal;

/** An HTTP/2 client of Node's own. */
async function withClient(
  carriers: CarrierPair,
  use: (session: http2.ClientHttp2Session) => Promise<void>,
): Promise<void> {
  const session = http2.connect(`http://127.0.0.1:${carriers.port}`);
  session.on('error', () => undefined);
  try {
    await use(session);
  } finally {
    session.destroy();
  }
}

const post = (path: string, contentType = GRPC): http2.OutgoingHttpHeaders => ({
  ':method': 'POST',
  ':path': path,
  'content-type': contentType,
  te: 'trailers',
});

const ANSWERS: readonly [
  what: string,
  headers: http2.OutgoingHttpHeaders,
  status: number,
  grpc?: string,
][] = [
  ['another service', post('/Other/Tun'), 200, '12'],
  ['another method', post('/GunService/Run'), 200, '12'],
  ['the path in another case', post('/gunservice/Tun'), 200, '12'],
  ['something that is not gRPC', post('/GunService/Tun', 'application/json'), 415, '3'],
  ['something that only begins like gRPC', post('/GunService/Tun', 'application/grpcx'), 415, '3'],
  ['a page', { ':method': 'GET', ':path': '/' }, 415, '3'],
];
for (const [what, headers, status, grpc] of ANSWERS) {
  test(`a request for ${what} gets status ${status} ${grpc ?? ''}`, async () => {
    await using carriers = await CarrierPair.open(grpcPair(false));
    await withClient(carriers, async (session) => {
      const stream = session.request(headers, { endStream: false });
      const [response] = (await once(stream, 'response')) as [http2.IncomingHttpHeaders];
      assert.equal(response[':status'], status);
      assert.equal(response['grpc-status'], grpc);
      stream.close();
    });
  });
}

for (const method of ['Tun', 'TunMulti']) {
  test(`${method} carries bytes both ways, and ends with status 0`, async () => {
    await using carriers = await CarrierPair.open(grpcPair(false));
    await withClient(carriers, async (session) => {
      const stream = session.request(post(`/GunService/${method}`, 'application/grpc+proto'));
      const { link } = await carriers.accept();
      const [headers] = (await once(stream, 'response')) as [http2.IncomingHttpHeaders];
      assert.equal(headers['content-type'], GRPC);
      // Two pieces in one message, as TunMulti has them.
      stream.write(Buffer.from('000000000a0a0268690a0421212121', 'hex'));
      assert.equal(String(await link.read()), 'hi!!!!');
      const received: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => received.push(chunk));
      const trailers = once(stream, 'trailers') as Promise<[http2.IncomingHttpHeaders]>;
      await link.write(Buffer.from('response'));
      await link.closeWrite();
      assert.equal((await trailers)[0]['grpc-status'], '0');
      assert.deepEqual(
        Buffer.concat(received),
        Buffer.concat(encodeHunks(Buffer.from('response'))),
      );
      // The other direction continues.
      stream.end(Buffer.concat(encodeHunks(Buffer.from('later'))));
      assert.equal(String(await readAll(link)), 'later');
      assert.equal(await link.closed, undefined);
    });
  });
}

test('a client that ends first gets the status, not a reset, when the server destroys the link', async () => {
  await using carriers = await CarrierPair.open(grpcPair(false));
  await withClient(carriers, async (session) => {
    const stream = session.request(post('/GunService/Tun'));
    const { link } = await carriers.accept();
    const trailers = once(stream, 'trailers') as Promise<[http2.IncomingHttpHeaders]>;
    const closed = once(stream, 'close');
    stream.resume().end(Buffer.concat(encodeHunks(Buffer.from('all'))));
    assert.equal(String(await readAll(link)), 'all');
    await link.write(Buffer.from('response'));
    await link.closeWrite();
    link.destroy();
    assert.equal((await trailers)[0]['grpc-status'], '0');
    await closed;
    assert.equal(stream.rstCode, http2.constants.NGHTTP2_NO_ERROR);
    assert.equal(await link.closed, undefined);
  });
});

// What grpc-go 1.83.0 of Xray 26.7.28 responds, but for its random space in the last.
for (const [what, message, code, text] of [
  ['compressed', '0100000000', '13', 'grpc: compressed flag set with identity or empty encoding'],
  ['of an unknown format', '0200000000', '13', 'grpc: received unexpected payload format 2'],
  [
    'no hunk',
    '00000000020a05',
    '13',
    'grpc: failed to unmarshal the received message: proto: cannot parse invalid wire-format data',
  ],
] as const) {
  test(`a tunnel with a message that is ${what} ends with a status, and its neighbours go on`, async () => {
    await using carriers = await CarrierPair.open(grpcPair(false));
    await withClient(carriers, async (session) => {
      const bad = session.request(post('/GunService/Tun'));
      const closed = once(bad, 'close');
      const trailers = once(bad, 'trailers') as Promise<[http2.IncomingHttpHeaders]>;
      const badLink = (await carriers.accept()).link;
      const good = session.request(post('/GunService/Tun'));
      const goodLink = (await carriers.accept()).link;
      bad.resume().write(Buffer.from(message, 'hex'));
      await assert.rejects(badLink.read(), /gRPC: /);
      const [fields] = await trailers;
      assert.deepEqual([fields['grpc-status'], fields['grpc-message']], [code, text]);
      await closed;
      assert.equal(bad.rstCode, http2.constants.NGHTTP2_NO_ERROR);
      good.end(Buffer.concat(encodeHunks(Buffer.from('still here'))));
      assert.equal(String(await readAll(goodLink)), 'still here');
    });
  });
}

test('a tunnel that is reset, or ends inside a message, has failed', async () => {
  await using carriers = await CarrierPair.open(grpcPair(false));
  await withClient(carriers, async (session) => {
    const reset = session.request(post('/GunService/Tun'));
    const resetLink = (await carriers.accept()).link;
    reset.on('error', () => undefined);
    reset.destroy(new Error('aborted'));
    await assert.rejects(resetLink.read(), /reset the tunnel|NGHTTP2_INTERNAL_ERROR/);
    assert.ok(await resetLink.closed);
    const short = session.request(post('/GunService/Tun'));
    const shortLink = (await carriers.accept()).link;
    short.end(Buffer.from('0000', 'hex'));
    await assert.rejects(shortLink.read(), /middle of a message/);
  });
});

test('a connection without a tunnel is given up when the limit has passed', async () => {
  const clock = new ManualClock();
  await using carriers = await CarrierPair.open(grpcPair(false), clock);
  await withClient(carriers, async (session) => {
    await once(session, 'remoteSettings');
    const closed = once(session, 'close');
    clock.advance(10_000);
    await closed;
  });
});

test('a connection whose tunnels do not authenticate is closed at the limit, whatever it opens', async () => {
  const clock = new ManualClock();
  await using carriers = await CarrierPair.open(grpcPair(false), clock);
  await withClient(carriers, async (session) => {
    const closed = once(session, 'close');
    const silent = (): http2.ClientHttp2Stream =>
      session.request(post('/GunService/Tun'), { endStream: false }).on('error', () => undefined);
    silent();
    const first = await carriers.acceptUnproven();
    clock.advance(9_000);
    // Another begins, and the first one ends.
    silent();
    await carriers.acceptUnproven();
    first.link.destroy();
    clock.advance(999);
    assert.equal(session.closed, false);
    clock.advance(1);
    await closed;
  });
});

test('a connection with a tunnel that has authenticated is not closed while another does not', async () => {
  const clock = new ManualClock();
  await using carriers = await CarrierPair.open(grpcPair(false), clock);
  await withClient(carriers, async (session) => {
    session.request(post('/GunService/Tun'), { endStream: false }).on('error', () => undefined);
    await carriers.accept();
    const late = session.request(post('/GunService/Tun'), { endStream: false });
    late.on('error', () => undefined);
    const { link } = await carriers.acceptUnproven();
    clock.advance(20_000);
    late.write(Buffer.concat(encodeHunks(Buffer.from('still here'))));
    assert.equal(String(await link.read()), 'still here');
  });
});

test('connections and silent tunnels count until they authenticate or end', async () => {
  await using carriers = await CarrierPair.open(grpcPair(true));
  const { unauthenticated } = carriers;
  const dials = await Promise.all([1, 2, 3].map(() => carriers.dial()));
  const served: Carrier[] = [];
  for (const _ of dials) served.push(await carriers.acceptUnproven());
  assert.equal(unauthenticated.count, 4);
  served[1]?.onAuthenticated?.();
  assert.equal(unauthenticated.count, 2);
  // As the user of a carrier does when it is over.
  for (const { onOver } of served) onOver?.();
  assert.equal(unauthenticated.count, 0);
  for (const { link } of [...dials, ...served]) link.destroy();
});

for (const [what, pair] of [
  ['tunnels of gRPC', grpcPair(false)],
  ['connections with TLS', TLS_PAIR],
  ['WebSockets', wsPair(false)],
  ['bare connections', { inbound: undefined, outbound: undefined }],
] as const) {
  test(`${what} beyond the bound end the oldest that has not authenticated`, async () => {
    const unauthenticated = new UnauthenticatedClients(100, what === 'tunnels of gRPC' ? 3 : 2);
    await using carriers = await CarrierPair.open(pair, undefined, unauthenticated);
    const proven = await carriers.connect();
    const oldest = await carriers.dial();
    const oldestServed = await carriers.acceptUnproven();
    const served: Carrier[] = [];
    for (let i = 0; i < (what === 'tunnels of gRPC' ? 3 : 2); i++) {
      served.push(await carriers.dial());
      served.push(await carriers.acceptUnproven());
    }
    assert.match(String(await oldestServed.link.closed), /have not authenticated/);
    await assert.rejects(oldest.link.read().then((chunk) => assert.ok(chunk, 'ended')));
    await proven.server.link.write(Buffer.from('served'));
    assert.equal(String(await proven.client.link.read()), 'served');
    for (const { link } of [...served, oldest, proven.client, proven.server]) link.destroy();
  });
}

test('a thousand tunnels share one connection, and share its bytes', async () => {
  await using carriers = await CarrierPair.open(grpcPair(true));
  const COUNT = 1000;
  const BATCH = 100;
  const clients: Carrier[] = [];
  const servers: Carrier[] = [];
  while (clients.length < COUNT) {
    clients.push(...(await Promise.all(Array.from({ length: BATCH }, () => carriers.dial()))));
    for (let i = 0; i < BATCH; i++) servers.push(await carriers.accept());
    // A server raises its limit as tunnels are opened; after this write the client knows it.
    await servers.at(-BATCH)?.link.write(Buffer.from('!'));
    assert.equal(String(await clients.at(-BATCH)?.link.read()), '!');
  }
  assert.equal(new Set(servers.map(({ remote }) => remote?.port)).size, 1);
  await Promise.all(
    clients.map(async ({ link }, i) => {
      await link.write(Buffer.from(`tunnel ${i}`));
      await link.closeWrite();
    }),
  );
  const heard = await Promise.all(servers.map(async ({ link }) => String(await readAll(link))));
  assert.equal(new Set(heard).size, COUNT);
  const total = servers.reduce((sum, { wire }) => sum + wire.bytesRead, 0);
  const payload = heard.reduce((sum, { length }) => sum + length, 0);
  assert.ok(total > payload + COUNT * 16, `${total} of ${payload}`);
  const sent = clients.reduce((sum, { wire }) => sum + wire.bytesWritten, 0);
  assert.ok(Math.abs(total - sent) < total / 20, `${total} received, ${sent} sent`);
  for (const { link } of [...clients, ...servers]) link.destroy();
});

/** Long enough for loopback to have moved whatever it is going to move. */
const pause = async (): Promise<void> => {
  for (let i = 0; i < 50; i++) await new Promise(setImmediate);
};

test('requests name path, authority and type, and ask for trailers', async () => {
  await using server = await Http2Server.open();
  const dialer = server.dialer();
  const { link } = await dialer.dial({ signal: never });
  await server.stream(0);
  const {
    ':path': path,
    ':authority': authority,
    ':method': method,
    te,
    ...rest
  } = server.headers[0] ?? {};
  assert.deepEqual([path, authority, method, te], ['/Gun/Tun', 'cdn.test', 'POST', 'trailers']);
  assert.equal(rest['content-type'], GRPC);
  link.destroy();
  dialer.close();
});

const REFUSALS: readonly [what: string, headers: http2.OutgoingHttpHeaders, message: RegExp][] = [
  ['a status of HTTP', { ':status': 404 }, /the server responded with HTTP status 404/],
  ['a status of gRPC', { ':status': 200, 'content-type': GRPC, 'grpc-status': '12' }, /status 12/],
];
for (const [what, headers, message] of REFUSALS) {
  test(`a tunnel whose response is ${what} fails`, async () => {
    await using server = await Http2Server.open();
    const dialer = server.dialer();
    const { link } = await dialer.dial({ signal: never });
    (await server.stream(0)).respond(headers, { endStream: true });
    await assert.rejects(link.read(), message);
    dialer.close();
  });
}

test('a status in trailers fails the tunnel behind its last byte', async () => {
  await using server = await Http2Server.open();
  const dialer = server.dialer();
  const { link } = await dialer.dial({ signal: never });
  const stream = await server.stream(0);
  stream.respond({ ':status': 200, 'content-type': GRPC }, { waitForTrailers: true });
  stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '14' }));
  stream.end(Buffer.concat(encodeHunks(Buffer.from('x'))));
  await assert.rejects(readAll(link), /status 14/);
  dialer.close();
});

test('a status with escapes, and its message, write nothing else to the log', async () => {
  await using server = await Http2Server.open();
  const dialer = server.dialer();
  const { link } = await dialer.dial({ signal: never });
  const headers = {
    ':status': 200,
    'content-type': GRPC,
    'grpc-status': '14\u009b31m',
    'grpc-message': 'forged\u009b2J',
  };
  (await server.stream(0)).respond(headers, { endStream: true });
  const line = await failureLine(Promise.resolve(link.read()));
  assert.match(line, /the server ended the call with status 14/);
  assert.doesNotMatch(line, /forged/);
  dialer.close();
});

test('a server that sends GOAWAY keeps its tunnels, and new ones go over a new connection', async () => {
  await using server = await Http2Server.open();
  const dialer = server.dialer();
  const first = await dialer.dial({ signal: never });
  const stream = await server.stream(0);
  stream.respond({ ':status': 200, 'content-type': GRPC });
  const [session] = server.sessions;
  session?.goaway(0);
  // It is known once a byte behind it has come.
  stream.write(Buffer.concat(encodeHunks(Buffer.from('a'))));
  assert.equal(String(await first.link.read()), 'a');
  await dialer.dial({ signal: never });
  await server.stream(1);
  assert.equal(server.sessions.length, 2);
  stream.write(Buffer.concat(encodeHunks(Buffer.from('b'))));
  assert.equal(String(await first.link.read()), 'b');
  dialer.close();
});

test('a connection that dies fails its tunnels and is replaced', async () => {
  await using server = await Http2Server.open();
  const dialer = server.dialer();
  const { link } = await dialer.dial({ signal: never });
  await server.stream(0);
  server.sockets[0]?.destroy();
  await assert.rejects(link.read());
  await dialer.dial({ signal: never });
  await server.stream(1);
  assert.equal(server.sessions.length, 2);
  dialer.close();
});

test('beyond what a server takes at once, tunnels go over further connections', async () => {
  await using server = await Http2Server.open({ maxConcurrentStreams: 2 });
  const dialer = server.dialer();
  for (let i = 0; i < 5; i++) {
    await dialer.dial({ signal: never });
    await server.stream(i);
  }
  assert.equal(server.sessions.length, 3);
  dialer.close();
});

test('many dials at once find room on as many connections as that takes', async () => {
  await using server = await Http2Server.open({ maxConcurrentStreams: 2 });
  const dialer = server.dialer();
  await Promise.all(Array.from({ length: 9 }, () => dialer.dial({ signal: never })));
  await server.stream(8);
  assert.equal(server.sessions.length, 5);
  dialer.close();
});

test('dials share a connection within their group alone, those at once included', async () => {
  await using server = await Http2Server.open();
  const dialer = server.dialer();
  const groups = [undefined, 'local', 'foreign', 'local', undefined, 'foreign'];
  await Promise.all(groups.map((group) => dialer.dial({ signal: never, group })));
  for (const group of groups) await dialer.dial({ signal: never, group });
  await server.stream(11);
  assert.equal(server.sessions.length, 3);
  dialer.close();
});

test('a server that accepts no tunnels fails the dial, and keeps no connections', async () => {
  await using server = await Http2Server.open({ maxConcurrentStreams: 0 });
  const dialer = server.dialer();
  await assert.rejects(dialer.dial({ signal: never }), {
    code: 'upstream',
    message: /accepts no tunnels/,
  });
  assert.equal(server.sessions.length, 2);
  for (const socket of server.sockets) if (!socket.destroyed) await once(socket, 'close');
  dialer.close();
});

test('connections to one server have a limit', async () => {
  await using server = await Http2Server.open({ maxConcurrentStreams: 1 });
  const dialer = server.dialer();
  for (let i = 0; i < 256; i++) await dialer.dial({ signal: never });
  await assert.rejects(dialer.dial({ signal: never }), { code: 'upstream', message: /256/ });
  assert.equal(server.sessions.length, 256);
  dialer.close();
});

test('a connection whose dial was aborted is closed when no tunnel uses it', async () => {
  await using server = await Http2Server.open();
  const clock = new ManualClock();
  const dialer = server.dialer(clock);
  const abort = new AbortController();
  const dialling = assert.rejects(dialer.dial({ signal: abort.signal }), { code: 'aborted' });
  const [session] = (await once(server.server, 'session')) as [http2.ServerHttp2Session];
  abort.abort(new Error('enough'));
  await dialling;
  await once(session, 'localSettings');
  // In small steps: in one step the server would seem not to respond.
  const closed = once(session, 'close');
  let gone = false;
  void closed.then(() => (gone = true));
  for (let at = 0; at <= 300_000 && !gone; at += 5_000) {
    clock.advance(5_000);
    await pause();
  }
  await closed;
  dialer.close();
});

test('a silent connection is asked whether it lives before it gets a tunnel', async () => {
  await using server = await Http2Server.open();
  const clock = new ManualClock();
  const dialer = server.dialer(clock);
  await dialer.dial({ signal: never });
  await server.stream(0);
  await dialer.dial({ signal: never });
  await server.stream(1);
  // Silence after a request is noticed sooner: the server responds to that probe.
  const [session] = server.sessions;
  assert.ok(session);
  const probed = once(session, 'remoteSettings');
  clock.advance(REQUEST_SILENCE_MS);
  await probed;
  // What the client sends back comes after the acknowledgement has been received.
  await new Promise((resolve) => session.ping(resolve));
  // It responds: the same connection.
  clock.advance(15_000);
  await dialer.dial({ signal: never });
  await server.stream(2);
  assert.equal(server.sessions.length, 1);
  await dialer.dial({ signal: never });
  await server.stream(3);
  dialer.close();
});

test('a server that speaks no HTTP/2 is given up when the limit has passed', async () => {
  const clock = new ManualClock();
  await using carriers = await CarrierPair.open({ ...grpcPair(false), inbound: undefined }, clock);
  const dialling = assert.rejects(carriers.dial(), { code: 'timed_out' });
  const { link } = await carriers.accept();
  await link.read();
  clock.advance(10_000);
  await dialling;
  link.destroy();
});

test('dials that come while the server has sent no SETTINGS wait for them, and fail with the first one', async () => {
  const clock = new ManualClock();
  await using carriers = await CarrierPair.open({ ...grpcPair(false), inbound: undefined }, clock);
  const outcomes: string[] = [];
  const dial = async (): Promise<void> => {
    const over = carriers.dial().then(
      () => 'made',
      ({ code }: DialError) => code,
    );
    outcomes.push(await over);
  };
  const first = dial();
  const { link } = await carriers.accept();
  // The client's preface: the connection exists.
  await link.read();
  const second = dial();
  await pause();
  assert.deepEqual(outcomes, []);
  link.destroy();
  await Promise.all([first, second]);
  assert.deepEqual(outcomes, ['upstream', 'upstream']);
});

test('dials that wait for one connection go on in turns when it is made', async () => {
  await using server = await Http2Server.open();
  const dialer = server.dialer();
  const COUNT = 4 * FLOWS_RESUMED_A_TURN;
  let made = 0;
  for (let dial = 0; dial < COUNT; dial++) {
    void dialer.dial({ signal: never }).then(() => made++);
  }
  let turns = 0;
  for (; made < COUNT; turns += Number(made > 0)) await new Promise(setImmediate);
  assert.ok(turns >= COUNT / FLOWS_RESUMED_A_TURN - 2, `${turns} turns`);
  assert.equal(server.sessions.length, 1);
  dialer.close();
});

test('an aborted dial leaves a shared connection to the other dials', async () => {
  await using server = await Http2Server.open();
  const dialer = server.dialer();
  const abort = new AbortController();
  const first = assert.rejects(dialer.dial({ signal: abort.signal }), { code: 'aborted' });
  const second = dialer.dial({ signal: never });
  abort.abort(new Error('enough'));
  await first;
  await second;
  await server.stream(0);
  assert.equal(server.sessions.length, 1);
  dialer.close();
});

test('closing the dialer ends its connections', async () => {
  await using carriers = await CarrierPair.open(grpcPair(false));
  const { client, server } = await carriers.connect();
  carriers.dialer.close();
  await assert.rejects(client.link.read());
  await server.link.read().catch(() => undefined);
  assert.ok(await server.link.closed.then(() => true));
});

test('closing the dialer sends what a tunnel that has ended has left, and then ends the connection', async () => {
  await using server = await Http2Server.open();
  const dialer = server.dialer();
  const { link } = await dialer.dial({ signal: never });
  const stream = await server.stream(0);
  stream.pause();
  // More than the windows of the stream and of the connection.
  const sent = Buffer.alloc(1 << 20, 'tail');
  stream.respond({ ':status': 200 });
  void link.write(sent)?.catch(() => undefined);
  void link.closeWrite().catch(() => undefined);
  link.destroy();
  await link.closed;
  dialer.close();
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk as Buffer);
  assert.ok(Buffer.concat(chunks).equals(Buffer.concat(encodeHunks(sent))));
  const [session] = server.sessions;
  if (session?.closed === false) await once(session, 'close');
});

test('payload of the frames of one read is handed on together, each byte once and in order', () =>
  checkJoinedReads(grpcPair(true), 16_384));

test('a chunk that is given to a tunnel is freed once it was sent', async () => {
  await using carriers = await CarrierPair.open(grpcPair(true));
  const { client, server } = await carriers.connect();
  const SIZE = 64 << 10;
  // Such as a read, and what TLS leaves of one.
  for (const length of [SIZE, SIZE - 29]) {
    const given = asSole(new Uint8Array(SIZE).fill(7).subarray(0, length));
    await server.link.write(given, OWNED);
    assert.equal(given.buffer.byteLength, 0);
    let received = 0;
    while (received < length) {
      const chunk = (await client.link.read()) ?? assert.fail('the end');
      assert.ok(chunk.every((byte) => byte === 7));
      received += chunk.length;
    }
  }
  client.link.destroy();
  server.link.destroy();
});
