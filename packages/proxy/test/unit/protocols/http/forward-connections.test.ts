import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { DialError, LinkClosedError } from '@weir/io';
import { HANDSHAKE_MS, RESET_DELAY_MS } from '../../../../../io/src/net/time/clock.ts';
import { ManualClock } from '../../../../../../test/support/manual-clock.ts';
import { settle } from '../../../../../../test/support/settle.ts';
import {
  EMPTY,
  exchange,
  GET,
  startProxy,
} from '../../../../../../test/support/protocols/http/support.ts';

describe('a client connection', () => {
  test('serves several requests to several hosts, each a flow of its own', async () => {
    const { client, dispatcher, served } = startProxy();
    for (const host of ['a.example', 'b.example', 'a.example']) {
      await client.send(`GET http://${host}/ HTTP/1.1\r\n\r\n`);
      const origin = await dispatcher.origin();
      assert.match(await origin.head(), new RegExp(`Host: ${host}`));
      await origin.send(`HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n${host}`);
      assert.equal((await client.response()).text, host);
      void origin.rest().then(() => origin.end());
    }
    assert.deepEqual(dispatcher.destinations, ['a.example 80', 'b.example 80', 'a.example 80']);
    await settle();
    assert.equal(dispatcher.live, 1, 'only the last flow is kept');
    await client.end();
    assert.equal(await served, undefined);
    assert.equal(dispatcher.live, 0);
  });

  test('uses the flow to an origin again for the next request to it', async () => {
    const { client, dispatcher } = startProxy();
    const { origin } = await exchange({ client, origin: dispatcher.origin() }, GET, EMPTY);
    await client.response();
    await client.send('GET http://A.example:80/2 HTTP/1.1\r\n\r\n');
    assert.match(await origin.head(), /^GET \/2 /);
    await origin.send(EMPTY);
    await client.response();
    assert.equal(dispatcher.streams.length, 1);
  });

  test('does not reuse it when the origin or its framing forbids that', async () => {
    for (const response of [
      'HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n',
      'HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n',
      'HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    ]) {
      const { client, dispatcher } = startProxy();
      await exchange({ client, origin: dispatcher.origin() }, GET, response);
      await client.until('\r\n\r\n');
      if (response.includes('chunked')) await client.until('0\r\n\r\n');
      await client.send(GET);
      await dispatcher.origin();
      assert.equal(dispatcher.streams.length, 2);
    }
  });

  test('does not reuse the flow of one user for another', async () => {
    const accounts = [
      { user: 'ann', pass: 'x' },
      { user: 'bob', pass: 'x' },
    ];
    const { client, dispatcher } = startProxy({ accounts });
    for (const { user } of accounts) {
      const basic = Buffer.from(`${user}:x`).toString('base64');
      await exchange(
        { client, origin: dispatcher.origin() },
        `GET http://a.example/ HTTP/1.1\r\nProxy-Authorization: Basic ${basic}\r\n\r\n`,
        EMPTY,
      );
      await client.response();
    }
    assert.deepEqual(
      dispatcher.streams.map(({ origin }) => origin.user),
      ['ann', 'bob'],
    );
  });

  test('serves pipelined requests in order, one at a time', async () => {
    const { client, dispatcher } = startProxy();
    await client.send(
      'POST http://a.example/1 HTTP/1.1\r\nContent-Length: 2\r\n\r\nhi' +
        'GET http://a.example/2 HTTP/1.1\r\n\r\nGET http://b.example/3 HTTP/1.1\r\n\r\n',
    );
    const a = await dispatcher.origin();
    assert.match(await a.head(), /^POST \/1 /);
    assert.equal(await a.exactly(2), 'hi');
    await settle();
    await a.send(EMPTY);
    assert.match(await a.head(), /^GET \/2 /);
    assert.equal(dispatcher.streams.length, 1);
    await a.send('HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n2');
    const b = await dispatcher.origin();
    assert.match(await b.head(), /^GET \/3 /);
    await b.send('HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n3');
    const texts = [await client.response(), await client.response(), await client.response()];
    assert.deepEqual(
      texts.map(({ text }) => text),
      ['', '2', '3'],
    );
  });

  test('releases an idle flow that its origin closes', async () => {
    const { client, dispatcher } = startProxy();
    const { origin } = await exchange({ client, origin: dispatcher.origin() }, GET, EMPTY);
    await client.response();
    await origin.end();
    await settle();
    assert.equal(dispatcher.live, 0);
    await exchange({ client, origin: dispatcher.origin() }, GET, EMPTY);
    assert.equal((await client.response()).status, 200);
  });

  test('releases an idle flow on which the origin sends unsolicited bytes', async () => {
    const { client, dispatcher } = startProxy();
    const { origin } = await exchange({ client, origin: dispatcher.origin() }, GET, EMPTY);
    await client.response();
    await origin.send('HTTP/1.1 408 Too Late\r\nContent-Length: 0\r\n\r\n');
    await settle();
    await exchange({ client, origin: dispatcher.origin() }, GET, EMPTY);
    assert.equal((await client.response()).status, 200);
    assert.equal(dispatcher.streams.length, 2);
  });

  test('sends a request again that met a closing connection', async () => {
    const { client, dispatcher } = startProxy();
    const { origin } = await exchange({ client, origin: dispatcher.origin() }, GET, EMPTY);
    await client.response();
    await client.send(GET);
    await origin.head();
    await origin.end();
    const second = await dispatcher.origin();
    assert.match(await second.head(), /^GET \/ /);
    await second.send(EMPTY);
    assert.equal((await client.response()).status, 200);
  });

  test('does not send again what could do its work twice, or what was killed', async () => {
    const post = 'POST http://a.example/ HTTP/1.1\r\n\r\n';
    const put = 'PUT http://a.example/ HTTP/1.1\r\nContent-Length: 2\r\n\r\nhi';
    for (const request of [post, put, GET]) {
      const { client, dispatcher } = startProxy();
      const { origin } = await exchange({ client, origin: dispatcher.origin() }, GET, EMPTY);
      await client.response();
      await client.send(request);
      await origin.head();
      await settle();
      if (request === GET) {
        for (const kill of dispatcher.kills) kill(new LinkClosedError('closed by the operator'));
      } else {
        await origin.end();
      }
      assert.equal((await client.response()).status, 502);
      assert.equal(dispatcher.streams.length, 1);
      await client.send(GET);
      await dispatcher.origin();
    }
  });

  test('gets the reason why an origin cannot be reached, and continues', async () => {
    const { client, dispatcher } = startProxy();
    dispatcher.failure = new DialError('timed_out', 'a.example:80: took too long');
    await client.send('POST http://a.example/ HTTP/1.1\r\nContent-Length: 2\r\n\r\nhi');
    const response = await client.response();
    assert.deepEqual([response.status, response.text], [504, 'a.example:80: took too long\n']);
    await client.send('HEAD http://a.example/ HTTP/1.1\r\n\r\n');
    assert.match(await client.head(), /^HTTP\/1\.1 504 .*\r\nContent-Length: 28$/s);
    await client.send(GET);
    assert.equal((await client.response()).status, 504);
  });

  test('gets a 502 when the response of an origin is empty or invalid', async () => {
    for (const nonsense of ['', 'SSH-2.0-OpenSSH\r\n', 'HTTP/1.1 200 OK\r\nContent-Le']) {
      const { client, dispatcher } = startProxy();
      await client.send(GET);
      const origin = await dispatcher.origin();
      await origin.head();
      await origin.send(nonsense);
      await origin.end();
      assert.equal((await client.response()).status, 502);
      await settle();
      assert.equal(dispatcher.live, 0);
      await client.send(GET);
      await dispatcher.origin();
    }
  });

  test('gets a 502 when the framing of a response is invalid', async () => {
    for (const lines of [
      'Content-Length: 1\r\nContent-Length: 2',
      'Transfer-Encoding: gzip, chunked',
      'X : y\r\n z\r\nA\0: b',
    ]) {
      const { client, dispatcher } = startProxy();
      await exchange(
        { client, origin: dispatcher.origin() },
        GET,
        `HTTP/1.1 200 OK\r\n${lines}\r\n\r\n`,
      );
      assert.equal((await client.response()).status, 502);
    }
  });

  test('is reset when a response is truncated', async () => {
    const chunked = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n';
    const broken: readonly (readonly [string, string])[] = [
      ['HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf', ''],
      [chunked, ''],
      [chunked, 'no size\r\n'],
    ];
    for (const [begun, rest] of broken) {
      const { client, dispatcher, served } = startProxy();
      const { origin } = await exchange({ client, origin: dispatcher.origin() }, GET, begun);
      await client.head();
      await origin.send(rest);
      await origin.end();
      await assert.rejects(client.rest());
      assert.ok((await served) instanceof Error);
      assert.equal(dispatcher.live, 0);
    }
  });

  test('of HTTP/1.0 is reset, not ended, when the origin is reset', async () => {
    const { client, dispatcher } = startProxy();
    const { origin } = await exchange(
      { client, origin: dispatcher.origin() },
      'GET http://a.example/ HTTP/1.0\r\n\r\n',
      'HTTP/1.1 200 OK\r\n\r\nhalf',
    );
    await client.head();
    await settle();
    origin.link.destroy(new Error('reset by the origin'));
    await assert.rejects(client.rest());
  });

  test('that closes ends its flow, at any moment', async () => {
    const moments: readonly string[] = [
      'POST http://a.example/ HTTP/1.1\r\nContent-Length: 10\r\n\r\nhalf',
      GET,
    ];
    for (const request of moments) {
      const { client, dispatcher, served } = startProxy();
      await client.send(request);
      const origin = await dispatcher.origin();
      await origin.head();
      await settle();
      client.link.destroy(new Error('the client is gone'));
      await assert.rejects(origin.rest());
      assert.ok((await served) instanceof Error);
      assert.equal(dispatcher.live, 0);
    }
  });

  test('that half-closes still gets its response', async () => {
    const { client, dispatcher, served } = startProxy();
    await client.send(GET);
    await client.end();
    const origin = await dispatcher.origin();
    await origin.head();
    await settle();
    await origin.send('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
    assert.equal((await client.response()).text, 'ok');
    assert.equal(await client.rest(), '');
    await origin.end();
    assert.equal(await served, undefined);
  });

  test('that ended what it sends is not waited for without limit', async () => {
    const { client, dispatcher, clock } = startProxy();
    await client.send(GET);
    await client.end();
    await dispatcher.origin();
    await settle();
    clock.advance(300_000);
    assert.equal((await client.response()).status, 504);
    await settle();
    assert.equal(dispatcher.live, 0);
  });

  test('that truncates its body gets a 400, and the origin is reset', async () => {
    const broken: readonly (readonly [string, boolean])[] = [
      ['Content-Length: 10\r\n\r\nhalf', true],
      ['Transfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\nx\r\n', false],
    ];
    for (const [body, ends] of broken) {
      const { client, dispatcher } = startProxy();
      await client.send(`POST http://a.example/ HTTP/1.1\r\n${body}`);
      const origin = await dispatcher.origin();
      await origin.head().catch(() => undefined);
      if (ends) await client.end();
      assert.equal((await client.response()).status, 400);
      await assert.rejects(origin.rest());
    }
  });

  test('has the origin close when the client will', async () => {
    for (const name of ['Connection', 'Proxy-Connection']) {
      const { client, dispatcher, served } = startProxy();
      const { asked, origin } = await exchange(
        { client, origin: dispatcher.origin() },
        `GET http://a.example/ HTTP/1.1\r\n${name}: close\r\n\r\n`,
        EMPTY,
      );
      assert.match(asked, /\r\nConnection: close$/);
      assert.match(await client.rest(), /\r\nConnection: close\r\n\r\n$/);
      await client.end();
      await origin.end();
      assert.equal(await served, undefined);
    }
  });

  test('does not wait long for an origin that will not close', async () => {
    const { client, dispatcher, clock, served } = startProxy();
    const { origin } = await exchange({ client, origin: dispatcher.origin() }, GET, EMPTY);
    await client.response();
    await client.end();
    assert.equal(await origin.rest(), '');
    await settle();
    assert.equal(dispatcher.live, 1);
    clock.advance(2_000);
    assert.equal(await served, undefined);
    assert.equal(dispatcher.live, 0);
    assert.equal(clock.timers, 0);
  });
});

describe('a client that does not read', () => {
  /** A response that fills what lies between, and of which more is to come. */
  async function stalled(linkClock?: ManualClock) {
    const proxy = startProxy({}, {}, linkClock);
    const { client, dispatcher } = proxy;
    await client.send(GET);
    const origin = await dispatcher.origin();
    await origin.head();
    await origin.send('HTTP/1.1 200 OK\r\nContent-Length: 10000000\r\n\r\n');
    for (let full = false; !full; await settle()) {
      full = origin.link.write(Buffer.alloc(65_536)) !== undefined && dispatcher.live === 1;
      if (full) await settle();
    }
    return { ...proxy, origin };
  }

  test('is reset when its flow is killed', async () => {
    const { client, dispatcher, served } = await stalled();
    for (const kill of dispatcher.kills) kill(new LinkClosedError('closed by the operator'));
    assert.match(String(await served), /closed by the operator/);
    assert.match(String(await client.link.closed), /closed by the operator/);
    assert.equal(dispatcher.live, 0);
  });

  test('is reset when the origin is', async () => {
    const clock = new ManualClock();
    const { client, dispatcher, served, origin } = await stalled(clock);
    origin.link.destroy(new Error('reset by the origin'));
    assert.match(String(await served), /reset by the origin/);
    clock.advance(RESET_DELAY_MS);
    assert.match(String(await client.link.closed), /reset by the origin/);
    assert.equal(dispatcher.live, 0);
  });

  test('gets a whole response, although the origin fails behind it', async () => {
    const { client, dispatcher } = startProxy();
    await client.send(GET);
    const origin = await dispatcher.origin();
    await origin.head();
    const body = 'x'.repeat(100_000);
    await origin.send(`HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
    await settle();
    origin.link.destroy(new Error('reset by the origin'));
    await settle();
    assert.equal((await client.response()).text, body);
  });

  test('has an interim response waiting when its flow is killed, and is reset as well', async () => {
    const { client, dispatcher, served } = startProxy();
    await client.send(GET);
    const origin = await dispatcher.origin();
    await origin.head();
    const interim = Buffer.from(`HTTP/1.1 103 Early Hints\r\nX: ${'x'.repeat(30_000)}\r\n\r\n`);
    for (let i = 0; i < 20; i++) {
      void origin.link.write(interim);
      await settle();
    }
    for (const kill of dispatcher.kills) kill(new LinkClosedError('closed by the operator'));
    await settle();
    assert.equal(dispatcher.live, 0);
    // What was written before comes first; then the proxy says why, which it can before a final response.
    assert.match(await client.until('HTTP/1.1 502'), /Early Hints/);
    client.link.destroy();
    await served;
  });
});

test('the flow of a connection that is ended between two requests ends at once', async () => {
  const { client, dispatcher, served } = startProxy();
  await exchange({ client, origin: dispatcher.origin() }, GET, EMPTY);
  await client.head();
  await settle();
  assert.equal(dispatcher.live, 1);
  client.link.destroy(new Error('gone'));
  await served;
  assert.equal(dispatcher.live, 0);
});

test('a kept connection keeps nothing of the requests that it has served', async () => {
  const { client, dispatcher, server } = startProxy();
  const { closed } = server;
  let waits = 0;
  Object.defineProperty(server, 'closed', {
    get: () => {
      waits++;
      return closed;
    },
  });
  const post = 'POST http://a.example/ HTTP/1.1\r\nContent-Length: 2\r\n\r\nhi';
  const first = await exchange({ client, origin: dispatcher.origin() }, post, EMPTY);
  await first.origin.exactly(2);
  await client.head();
  const before = waits;
  for (let i = 0; i < 50; i++) {
    await exchange({ client, origin: Promise.resolve(first.origin) }, post, EMPTY);
    await first.origin.exactly(2);
    await client.head();
  }
  assert.equal(waits, before);
});

test('a client that does not read its responses is disconnected in time', async () => {
  const { client, clock, dispatcher, served } = startProxy();
  dispatcher.failure = new DialError('refused', 'nothing listens there');
  for (let i = 0; i < 2000; i++) client.link.write(Buffer.from(GET))?.catch(() => undefined);
  for (let i = 0; i < 1000; i++) await settle();
  clock.advance(HANDSHAKE_MS);
  assert.match(String(await served), /the response took longer than 10 s/);
  assert.equal(clock.timers, 0);
});
