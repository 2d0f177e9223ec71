import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { FIELD_LINE_LIMIT, HEAD_LIMIT } from '@weir/http/fields';
import { chunksOf } from '../../../../../../test/support/http/http1/fuzz.ts';
import { settle } from '../../../../../../test/support/settle.ts';
import { startProxy } from '../../../../../../test/support/protocols/http/support.ts';

describe('a request that could be understood in two ways', () => {
  const absolute = 'POST http://a.example/ HTTP/1.1\r\nHost: a.example\r\n';
  const smuggled = 'GET http://b.example/ HTTP/1.1\r\n\r\n';
  const table: readonly (readonly [string, string, number])[] = [
    [
      'two lengths',
      `${absolute}Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
      400,
    ],
    ['lengths that differ', `${absolute}Content-Length: 0\r\nContent-Length: 44\r\n\r\n`, 400],
    ['a length with a sign', `${absolute}Content-Length: +0\r\n\r\n`, 400],
    ['an overflowing length', `${absolute}Content-Length: 18446744073709551616\r\n\r\n`, 400],
    ['chunked not last', `${absolute}Transfer-Encoding: chunked, identity\r\n\r\n`, 400],
    ['an unknown coding', `${absolute}Transfer-Encoding: x\r\n\r\n`, 400],
    ['a space before the colon', `${absolute}Content-Length : 4\r\n\r\n`, 400],
    ['a folded line', `${absolute}X: y\r\n Transfer-Encoding: chunked\r\n\r\n`, 400],
    ['a bare CR', `${absolute}X: y\rTransfer-Encoding: chunked\r\n\r\n`, 400],
    ['a bare LF', `${absolute}X: y\nTransfer-Encoding: chunked\r\n\r\n`, 400],
    ['a NUL', `${absolute}X: \0\r\n\r\n`, 400],
    ['an invalid name', `${absolute}Trans fer: x\r\n\r\n`, 400],
    ['several Hosts', `${absolute}Host: a.example\r\n\r\n`, 400],
    ['two user names', 'GET http://b@c@a.example/ HTTP/1.1\r\n\r\n', 400],
    ['a backslash before an @', 'GET http://b.example\\@a.example/ HTTP/1.1\r\n\r\n', 400],
    ['a user name for CONNECT', 'CONNECT u:p@a.example:443 HTTP/1.1\r\n\r\n', 400],
    ['an invalid port', 'GET http://a.example:80a/ HTTP/1.1\r\n\r\n', 400],
    ['the preface of HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 505],
    ['HTTP/0.9', 'GET http://a.example/\r\n\r\n', 400],
    ['HTTP/2.0', 'GET http://a.example/ HTTP/2.0\r\n\r\n', 505],
    ['TLS', '\x16\x03\x01\x02\x00\x01\x00', 400],
    ['SOCKS', '\x05\x01\x00', 400],
    ['a long head', `${absolute}X: ${'y'.repeat(HEAD_LIMIT)}\r\n\r\n`, 431],
    ['many lines', `${absolute}${'X: y\r\n'.repeat(FIELD_LINE_LIMIT)}\r\n`, 431],
  ];
  for (const [what, text, status] of table) {
    test(`(${what}) gets ${status}, and nothing after it is read as a request`, async () => {
      const { client, dispatcher, served } = startProxy();
      await client.send(text + smuggled);
      const response = await client.response();
      assert.equal(response.status, status);
      assert.match(response.head, /\r\nConnection: close/);
      assert.equal(await client.rest(), '');
      await client.end();
      assert.equal(await served, undefined);
      assert.equal(dispatcher.streams.length, 0);
    });
  }

  test('in its chunks ends the connection, and nothing behind it is read as a request', async () => {
    for (const body of [
      '5\nhello\r\n0\r\n\r\n',
      'fffffffffffffffff\r\n',
      '3\r\nhello\r\n0\r\n\r\n',
    ]) {
      const { client, dispatcher } = startProxy();
      await client.send(`${absolute}Transfer-Encoding: chunked\r\n\r\n${body}${smuggled}`);
      assert.equal((await client.response()).status, 400);
      assert.equal(await client.rest(), '');
      assert.deepEqual(dispatcher.destinations, ['a.example 80']);
    }
  });
});

describe('a client that keeps the proxy waiting', () => {
  test('gets 408 when its first head is not complete in 10 s', async () => {
    const { client, clock, served } = startProxy();
    for (const piece of ['GET http://a', '.example/ HT', 'TP/1.1\r\nX: ']) {
      await client.send(piece);
      await settle();
      clock.advance(3_000);
    }
    await settle();
    clock.advance(1_000);
    const response = await client.response();
    assert.equal(response.status, 408);
    assert.match(response.head, /\r\nConnection: close/);
    await client.end();
    assert.equal(await served, undefined);
  });

  test('may be idle for 60 s between requests, but not within a head', async () => {
    const { client, dispatcher, clock } = startProxy();
    await client.send('GET http://a.example/ HTTP/1.1\r\n\r\n');
    const origin = await dispatcher.origin();
    await origin.head();
    await origin.send('HTTP/1.1 204 Done\r\n\r\n');
    await client.head();
    await settle();
    clock.advance(59_999);
    await settle();
    await client.send('G');
    await settle();
    clock.advance(9_999);
    await settle();
    clock.advance(1);
    assert.equal((await client.response()).status, 408);
  });

  test('is closed after 60 s between requests', async () => {
    const { client, dispatcher, clock, served } = startProxy();
    await client.send('GET http://a.example/ HTTP/1.1\r\n\r\n');
    const origin = await dispatcher.origin();
    await origin.head();
    await origin.send('HTTP/1.1 204 Done\r\n\r\n');
    await client.head();
    await settle();
    clock.advance(60_000);
    assert.equal(await client.rest(), '');
    await client.end();
    assert.equal(await origin.rest(), '');
    await origin.end();
    assert.equal(await served, undefined);
    assert.equal(dispatcher.live, 0);
    assert.equal(clock.timers, 0);
  });

  test('is closed when it neither reads nor closes after its response', async () => {
    const { client, clock, served } = startProxy();
    await client.send('GET / HTTP/1.1\r\n\r\n');
    assert.equal((await client.response()).status, 400);
    await settle();
    clock.advance(5_000);
    assert.equal(await served, undefined);
    await assert.rejects(async () => client.send('more'));
  });
});

describe('any bytes from a client', () => {
  test('end in responses and a closed connection, and leave no flow behind', async () => {
    const part = fc.constantFrom(
      'GET http://a.example/ HTTP/1.1\r\n',
      'CONNECT a.example:443 HTTP/1.1\r\n',
      'POST http://b.example/ HTTP/1.1\r\n',
      'Content-Length: 5\r\n',
      'Transfer-Encoding: chunked\r\n',
      'Connection: close\r\n',
      'Expect: 100-continue\r\n',
      '\r\n',
      'hello',
      '5\r\nhello\r\n',
      '0\r\n\r\n',
      '\0',
    );
    const text = fc.array(part, { maxLength: 16 }).map((parts) => parts.join(''));
    await fc.assert(
      fc.asyncProperty(text, fc.array(fc.nat(40), { minLength: 1 }), async (input, cuts) => {
        const { client, dispatcher, clock, served } = startProxy();
        const playing = (async () => {
          for (;;) {
            const origin = await dispatcher.origin();
            await origin.send('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
            await origin.end();
            void origin.rest().catch(() => undefined);
          }
        })();
        playing.catch(() => undefined);
        const reading = client.rest().catch(() => '');
        for (const chunk of chunksOf(Buffer.from(input, 'latin1'), cuts)) {
          await Promise.resolve(client.link.write(chunk)).catch(() => undefined);
        }
        await client.end().catch(() => undefined);
        const answers = await reading;
        assert.match(answers, /^(HTTP\/1\.1 |$)/);
        await served;
        assert.equal(dispatcher.live, 0);
        assert.equal(clock.timers, 0);
      }),
      { numRuns: 150 },
    );
  });
});
