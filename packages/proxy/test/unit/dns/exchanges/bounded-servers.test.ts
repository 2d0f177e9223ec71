import assert from 'node:assert/strict';
import { once } from 'node:events';
import { constants, createSecureServer, type ServerHttp2Stream } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { test, type TestContext } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { HttpsExchange } from '../../../../src/dns/exchanges/https-exchange.ts';
import { TestAuthority } from '../../../../../../test/support/data/test-certificates.ts';
import { ManualClock } from '../../../../../../test/support/manual-clock.ts';
import {
  a,
  reply,
  startHttpsDns,
  TestDnsServer,
  type Asked,
} from '../../../../../../test/support/peers/dns-server.ts';

const authority = new TestAuthority();
const certificate = authority.issue({ dns: ['dns.test'] });
const ca = { file: 'ca.pem', certificates: [authority.cert] };
const never = new AbortController().signal;
const good = (asked: Asked): Buffer => reply(asked, { answers: [a(asked.name, '192.0.2.1')] });
function exchangeWith(t: TestContext, server: { readonly host: string; readonly port: number }) {
  const exchange = new HttpsExchange({
    server,
    host: 'dns.test',
    path: '/dns-query',
    ca,
    clock: new ManualClock(),
  });
  t.after(() => exchange.close());
  return exchange;
}

async function answersAll(exchange: HttpsExchange, count: number): Promise<void> {
  const names = Array.from({ length: count }, (_, index) => `n${index}.example`);
  const found = await Promise.all(names.map((name) => exchange.ask({ name, type: 'A' }, never)));
  assert.deepEqual(
    found.map(({ records }) => records[0]?.owner),
    names,
  );
}

test('HTTP/1.1: a server that closes connections beyond the third answers all questions on three', async (t) => {
  const served = new Set<number>();
  const server = await startHttpsDns(t, certificate, 'h1', async (asked) => {
    served.add(asked.from);
    await turn();
    return good(asked);
  });
  server.maxConnections = 3;
  await answersAll(exchangeWith(t, server), 40);
  assert.ok(served.size <= 3);
  assert.equal(server.asked.length, 40);
});

test('HTTP/1.1: a server that closes further connections with their questions answers them on the first', async (t) => {
  const served = new Set<number>();
  const server = await startHttpsDns(t, certificate, 'h1', async (asked) => {
    if (served.size < 3) served.add(asked.from);
    await turn();
    if (served.has(asked.from)) return good(asked);
    server.disconnect(asked.from);
    return undefined;
  });
  await answersAll(exchangeWith(t, server), 40);
});

test('HTTP/1.1: a server that closes each connection after two responses answers all questions', async (t) => {
  const answered = new Map<number, number>();
  const server = await startHttpsDns(t, certificate, 'h1', (asked) => {
    const before = answered.get(asked.from) ?? 0;
    answered.set(asked.from, before + 1);
    if (before < 2) return good(asked);
    server.disconnect(asked.from);
    return undefined;
  });
  await answersAll(exchangeWith(t, server), 40);
  assert.ok(server.asked.length <= 80);
});

/** An HTTP/2 server that passes its streams to `serve`, with the message that was posted. */
async function startHttp2(
  t: TestContext,
  serve: (stream: ServerHttp2Stream, respond: () => void) => void,
) {
  const dns = new TestDnsServer(good);
  const server = createSecureServer(certificate);
  server.on('connection', (socket) => dns.accept(socket));
  server.on('sessionError', () => undefined);
  server.on('stream', (stream: ServerHttp2Stream) => {
    stream.on('error', () => undefined);
    const pieces: Buffer[] = [];
    stream.on('data', (piece: Buffer) => pieces.push(piece));
    stream.on('end', () => {
      serve(stream, () => {
        void dns.respond(Buffer.concat(pieces), 'h2', 0).then(([message]) => {
          if (stream.destroyed) return;
          stream.respond({ ':status': 200, 'content-type': 'application/dns-message' });
          stream.end(message);
        });
      });
    });
  });
  server.listen(0, dns.host);
  await once(server, 'listening');
  t.after(() => {
    server.close();
    dns.disconnect();
  });
  dns.port = (server.address() as AddressInfo).port;
  return dns;
}

for (const code of ['NGHTTP2_REFUSED_STREAM', 'NGHTTP2_ENHANCE_YOUR_CALM'] as const)
  test(`HTTP/2: questions on streams with ${code} are asked again once others are answered`, async (t) => {
    let open = 0;
    let refused = 0;
    const server = await startHttp2(t, (stream, respond) => {
      if (open >= 3) {
        refused++;
        stream.close(constants[code]);
        return;
      }
      open++;
      stream.on('close', () => open--);
      setImmediate(respond);
    });
    await answersAll(exchangeWith(t, server), 40);
    assert.ok(refused > 0);
    assert.equal(server.asked.length, 40);
  });

test('HTTP/2: a server that refuses every stream is given up', async (t) => {
  let refused = 0;
  const server = await startHttp2(t, (stream) => {
    refused++;
    stream.close(constants.NGHTTP2_REFUSED_STREAM);
  });
  const exchange = exchangeWith(t, server);
  const outcomes = await Promise.allSettled(
    Array.from({ length: 20 }, (_, index) =>
      exchange.ask({ name: `n${index}.example`, type: 'A' }, never),
    ),
  );
  for (const outcome of outcomes) {
    assert.equal(outcome.status, 'rejected');
    assert.match(String(outcome.reason), /REFUSED_STREAM/);
  }
  assert.ok(refused <= 5 * 20, `${refused} streams`);
});

test('HTTP/2: questions above the last stream of a GOAWAY are asked on another connection', async (t) => {
  const counts = new Map<unknown, number>();
  const server = await startHttp2(t, (stream, respond) => {
    const { session } = stream;
    const count = (counts.get(session) ?? 0) + 1;
    counts.set(session, count);
    if (count === 5) session?.goaway(constants.NGHTTP2_NO_ERROR, stream.id);
    if (count <= 5) setImmediate(respond);
  });
  await answersAll(exchangeWith(t, server), 25);
  assert.equal(server.asked.length, 25);
});
