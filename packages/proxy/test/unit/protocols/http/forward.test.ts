import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { settle } from '../../../../../../test/support/settle.ts';
import {
  exchange,
  GET,
  startProxy,
} from '../../../../../../test/support/protocols/http/support.ts';

describe('a request in absolute form', () => {
  test('reaches its origin in origin form, with the Host of its target', async () => {
    const { client, dispatcher } = startProxy();
    const { asked } = await exchange(
      { client, origin: dispatcher.origin() },
      'GET http://a.example:8080/x?y=z HTTP/1.1\r\nHost: b.example\r\nAccept: */*\r\nX-Odd:  v \r\n\r\n',
      'HTTP/1.1 200 Fine\r\nContent-Length: 5\r\nX-From: origin\r\n\r\nhello',
    );
    assert.equal(asked, 'GET /x?y=z HTTP/1.1\r\nHost: a.example:8080\r\nAccept: */*\r\nX-Odd: v');
    const response = await client.response();
    assert.equal(response.head, 'HTTP/1.1 200 Fine\r\nX-From: origin\r\nContent-Length: 5');
    assert.equal(response.text, 'hello');
    assert.deepEqual(dispatcher.destinations, ['a.example 8080']);
    assert.equal(dispatcher.streams[0]?.sniff, false);
  });

  test('takes neither user information nor a fragment to its origin, and authenticates by neither', async () => {
    for (const target of [
      'http://eve:p%40ss@a.example:81/x?y#z',
      'ws://eve:p%40ss@a.example:81/x?y',
    ]) {
      const { client, dispatcher } = startProxy({ accounts: [{ user: 'mia', pass: 's3cret' }] });
      const login = Buffer.from('mia:s3cret').toString('base64');
      await client.send(
        `GET ${target} HTTP/1.1\r\nHost: eve:p%40ss@a.example:81\r\nProxy-Authorization: Basic ${login}\r\n\r\n`,
      );
      const origin = await dispatcher.origin();
      assert.equal(await origin.head(), 'GET /x?y HTTP/1.1\r\nHost: a.example:81');
      assert.deepEqual(dispatcher.destinations, ['a.example 81']);
      assert.equal(dispatcher.streams[0]?.origin.user, 'mia');
    }
    const { client, dispatcher } = startProxy({ accounts: [{ user: 'mia', pass: 's3cret' }] });
    await client.send('GET http://mia:s3cret@a.example/ HTTP/1.1\r\n\r\n');
    assert.equal((await client.response()).status, 407);
    assert.deepEqual(dispatcher.streams, []);
  });

  test('loses what belongs to the connection alone, in both directions', async () => {
    const { client, dispatcher } = startProxy();
    const { asked } = await exchange(
      { client, origin: dispatcher.origin() },
      'GET http://a.example/ HTTP/1.1\r\nConnection: keep-alive, X-Secret\r\nX-Secret: 1\r\n' +
        'Proxy-Connection: keep-alive\r\nKeep-Alive: timeout=5\r\nTE: gzip\r\nTrailer: A\r\n' +
        'Upgrade: h2c\r\nProxy-Authorization: Basic eDp5\r\nProxy-Authenticate: x\r\n' +
        'Authorization: Bearer t\r\n\r\n',
      'HTTP/1.1 200 OK\r\nConnection: X-Hop\r\nX-Hop: 1\r\nKeep-Alive: timeout=5\r\n' +
        'Proxy-Authenticate: Basic\r\nUpgrade: h2c\r\nContent-Length: 0\r\nETag: "1"\r\n\r\n',
    );
    assert.equal(asked, 'GET / HTTP/1.1\r\nHost: a.example\r\nAuthorization: Bearer t');
    assert.equal(await client.head(), 'HTTP/1.1 200 OK\r\nETag: "1"\r\nContent-Length: 0');
  });

  test('forwards that the client accepts trailers', async () => {
    const { client, dispatcher } = startProxy();
    await client.send('GET http://a.example/ HTTP/1.1\r\nTE: gzip, trailers\r\n\r\n');
    const origin = await dispatcher.origin();
    assert.match(await origin.head(), /\r\nTE: trailers\r\nConnection: TE$/);
  });

  test('with https has the default port 443, and is otherwise unchanged', async () => {
    const { client, dispatcher } = startProxy();
    await client.send('GET https://a.example/x HTTP/1.1\r\n\r\n');
    const origin = await dispatcher.origin();
    assert.equal(await origin.head(), 'GET /x HTTP/1.1\r\nHost: a.example');
    assert.deepEqual(dispatcher.destinations, ['a.example 443']);
  });

  test('of HTTP/1.0 is forwarded as 1.1, gets a response without chunks and closes', async () => {
    const { client, dispatcher, served } = startProxy();
    const { asked, origin } = await exchange(
      { client, origin: dispatcher.origin() },
      'GET http://a.example/ HTTP/1.0\r\nConnection: keep-alive\r\nExpect: 100-continue\r\n\r\n',
      'HTTP/1.1 103 Early\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n' +
        '5\r\nhello\r\n0\r\nA: b\r\n\r\n',
    );
    assert.equal(asked, 'GET / HTTP/1.1\r\nHost: a.example\r\nConnection: close');
    assert.equal(await client.rest(), 'HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhello');
    await client.end();
    assert.equal(await origin.rest(), '');
    await origin.end();
    assert.equal(await served, undefined);
  });

  test('gets the response of the origin, with any framing', async () => {
    const framings: readonly (readonly [string, string, string])[] = [
      ['HEAD', 'Content-Length: 99\r\n\r\n', 'HTTP/1.1 200 OK\r\nContent-Length: 99'],
      ['HEAD', 'Transfer-Encoding: chunked\r\n\r\n', 'HTTP/1.1 200 OK'],
      ['GET', 'Content-Length: 3, 3\r\n\r\nabc', 'HTTP/1.1 200 OK\r\nContent-Length: 3'],
    ];
    for (const [method, response, expected] of framings) {
      const { client, dispatcher } = startProxy();
      await exchange(
        { client, origin: dispatcher.origin() },
        `${method} http://a.example/ HTTP/1.1\r\n\r\n`,
        `HTTP/1.1 200 OK\r\n${response}`,
      );
      assert.equal(await client.head(), expected);
    }
    for (const status of [204, 304]) {
      const { client, dispatcher } = startProxy();
      await exchange({ client, origin: dispatcher.origin() }, GET, `HTTP/1.1 ${status} X\r\n\r\n`);
      assert.equal(await client.head(), `HTTP/1.1 ${status} X`);
      await client.send(GET);
      await settle();
      assert.equal(dispatcher.streams.length, 1, 'the connection to the origin is used again');
    }
  });

  test('gets a chunked response when the origin ends its body by closing', async () => {
    const { client, dispatcher } = startProxy();
    const { origin } = await exchange(
      { client, origin: dispatcher.origin() },
      GET,
      'HTTP/1.0 200 OK\r\n\r\nall ',
    );
    await origin.send('there is');
    await origin.end();
    assert.equal(await client.head(), 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked');
    const body = await client.until('\r\n0\r\n\r\n');
    // How many chunks it takes depends on how the bytes came.
    assert.equal(body.replaceAll(/\r?\n?[0-9a-f]+\r\n/g, ''), 'all there is\r\n');
  });

  test('passes chunks and harmless trailers on, and drops extensions', async () => {
    const { client, dispatcher } = startProxy();
    await client.send(
      'POST http://a.example/ HTTP/1.1\r\nTransfer-Encoding: chunked\r\nTrailer: Sum\r\n\r\n' +
        '5;ext=1\r\nhello\r\n0\r\nSum: 1\r\nHost: evil\r\nContent-Length: 9\r\n\r\n',
    );
    const origin = await dispatcher.origin();
    assert.equal(
      await origin.head(),
      'POST / HTTP/1.1\r\nHost: a.example\r\nTrailer: Sum\r\nTransfer-Encoding: chunked',
    );
    assert.equal(await origin.until('\r\n\r\n'), '5\r\nhello\r\n0\r\nSum: 1\r\n\r\n');
    await origin.send(
      'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nT: 2\r\nSet-Cookie: x\r\n\r\n',
    );
    assert.equal(await client.head(), 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked');
    assert.equal(await client.until('\r\n\r\n'), '3\r\nabc\r\n0\r\nT: 2\r\n\r\n');
  });

  test('waits with its body for a 100 that the origin sends', async () => {
    const { client, dispatcher } = startProxy();
    await client.send(
      'PUT http://a.example/ HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n',
    );
    const origin = await dispatcher.origin();
    assert.match(await origin.head(), /\r\nExpect: 100-continue\r\n/);
    await origin.send('HTTP/1.1 100 Continue\r\n\r\n');
    assert.equal(await client.head(), 'HTTP/1.1 100 Continue');
    await client.send('body');
    assert.equal(await origin.exactly(4), 'body');
    await origin.send(
      'HTTP/1.1 102 Wait\r\nX: 1\r\n\r\nHTTP/1.1 201 Made\r\nContent-Length: 0\r\n\r\n',
    );
    assert.equal(await client.head(), 'HTTP/1.1 102 Wait\r\nX: 1');
    assert.equal(await client.head(), 'HTTP/1.1 201 Made\r\nContent-Length: 0');
  });

  test('that gets a response before its body is read ends the connection', async () => {
    const { client, dispatcher, served } = startProxy();
    await client.send(
      'PUT http://a.example/ HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n',
    );
    const origin = await dispatcher.origin();
    await origin.head();
    await origin.send('HTTP/1.1 417 No\r\nContent-Length: 0\r\n\r\n');
    assert.match(await client.head(), /^HTTP\/1\.1 417 No\r\n.*\r\nConnection: close$/);
    await client.end();
    await origin.end();
    assert.equal(await served, undefined);
  });

  test('may get its response before its body has arrived, which is still forwarded', async () => {
    const { client, dispatcher, served } = startProxy();
    await client.send('POST http://a.example/ HTTP/1.1\r\nContent-Length: 10\r\n\r\nfirst');
    const origin = await dispatcher.origin();
    await origin.head();
    await origin.send('HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nearly');
    const response = await client.response();
    assert.match(response.head, /\r\nConnection: close/);
    assert.equal(response.text, 'early');
    await client.send(' last');
    assert.equal(await origin.exactly(10), 'first last');
    await client.end();
    await origin.end();
    assert.equal(await served, undefined);
  });

  test('gets its response although the origin stops reading it', async () => {
    const { client, dispatcher, served } = startProxy();
    await client.send('POST http://a.example/ HTTP/1.1\r\nContent-Length: 1000000\r\n\r\nfirst');
    const origin = await dispatcher.origin();
    await origin.head();
    await origin.send('HTTP/1.1 413 Too Large\r\nConnection: close\r\nContent-Length: 2\r\n\r\nno');
    await origin.end();
    assert.equal((await client.response()).text, 'no');
    origin.link.destroy(new Error('reset'));
    await client.send('more');
    assert.equal(await client.rest(), '');
    await client.end();
    assert.equal(await served, undefined);
  });

  test('stops reading a request that stalls after its response', async () => {
    const { client, dispatcher, clock, served } = startProxy();
    await client.send('POST http://a.example/ HTTP/1.1\r\nContent-Length: 10\r\n\r\nfirst');
    const origin = await dispatcher.origin();
    await origin.head();
    await origin.send('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n');
    await client.response();
    await settle();
    clock.advance(300_000);
    await settle();
    assert.equal(dispatcher.live, 0);
    assert.equal(await client.rest(), '');
    await client.end();
    assert.equal(await served, undefined);
  });

  test('streams large bodies both ways at once with bounded memory', async () => {
    const size = 4 << 20;
    const { client, dispatcher } = startProxy();
    await client.send(`POST http://a.example/ HTTP/1.1\r\nContent-Length: ${size}\r\n\r\n`);
    const origin = await dispatcher.origin();
    await origin.head();
    const chunk = Buffer.alloc(32 << 10, 'x');

    // The far end does not read: the writer must be paused long before everything is written.
    let blocked: Promise<void> | undefined;
    let sent = 0;
    while (!blocked && sent < size) {
      const full = client.link.write(chunk);
      sent += chunk.length;
      if (!full) continue;
      const free = await Promise.race([full.then(() => true), settle().then(() => false)]);
      if (!free) blocked = full;
    }
    assert.ok(blocked, 'the whole body was buffered');
    assert.ok(sent < 1 << 20, `${sent} bytes were buffered`);

    const rest = (async () => {
      await blocked;
      for (; sent < size; sent += chunk.length) await client.link.write(chunk);
    })();
    await origin.send(`HTTP/1.1 200 OK\r\nContent-Length: ${size}\r\n\r\n`);
    const echo = (async () => {
      for (let left = size; left > 0;) {
        const piece = await origin.link.read();
        assert.ok(piece);
        left -= piece.length;
        await origin.link.write(piece);
      }
    })();
    await client.head();
    const text = await client.exactly(size);
    await Promise.all([rest, echo]);
    assert.ok(text === 'x'.repeat(size));
  });
});

describe('an upgrade', () => {
  test('is asked for with a ws target as well, as by aiohttp', async () => {
    const { client, dispatcher } = startProxy();
    const { asked } = await exchange(
      { client, origin: dispatcher.origin() },
      'GET ws://a.example/chat HTTP/1.1\r\nHost: a.example\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n',
      'HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n',
    );
    assert.equal(
      asked,
      'GET /chat HTTP/1.1\r\nHost: a.example\r\nUpgrade: websocket\r\nConnection: Upgrade',
    );
    assert.match(await client.head(), /^HTTP\/1\.1 101 /);
  });

  const request =
    'GET http://a.example/chat HTTP/1.1\r\nConnection: keep-alive, Upgrade\r\nUpgrade: websocket\r\n' +
    'Sec-WebSocket-Key: x\r\n\r\n';

  test('becomes a tunnel in which half-closes pass both ways', async () => {
    const { client, dispatcher, served } = startProxy();
    const { asked, origin } = await exchange(
      { client, origin: dispatcher.origin() },
      request,
      'HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n' +
        'Sec-WebSocket-Accept: y\r\n\r\nfirst frame, ',
    );
    assert.match(asked, /\r\nUpgrade: websocket\r\nConnection: Upgrade$/);
    assert.equal(
      await client.head(),
      'HTTP/1.1 101 Switching Protocols\r\nSec-WebSocket-Accept: y\r\n' +
        'Upgrade: websocket\r\nConnection: Upgrade',
    );
    await client.send('\x81\x00binary\r\n\r\n');
    await client.end();
    assert.equal(await origin.rest(), '\x81\x00binary\r\n\r\n');
    await origin.send('last frame');
    await origin.end();
    assert.equal(await client.rest(), 'first frame, last frame');
    assert.equal(await served, undefined);
    assert.equal(dispatcher.live, 0);
  });

  test('hands over what the client sent too early', async () => {
    const { client, dispatcher } = startProxy();
    await client.send(`${request}early`);
    const origin = await dispatcher.origin();
    await origin.head();
    await origin.send('HTTP/1.1 101 Ok\r\nUpgrade: websocket\r\n\r\n');
    await client.head();
    assert.equal(await origin.exactly(5), 'early');
  });

  test('that is declined is a plain exchange', async () => {
    const { client, dispatcher } = startProxy();
    const { origin } = await exchange(
      { client, origin: dispatcher.origin() },
      request,
      'HTTP/1.1 426 Upgrade Required\r\nUpgrade: foo\r\nContent-Length: 0\r\n\r\n',
    );
    assert.match(
      await client.head(),
      /^HTTP\/1\.1 426 .*\r\nUpgrade: foo\r\nConnection: Upgrade$/s,
    );
    await client.send(GET);
    assert.match(await origin.head(), /^GET \/ /);
  });

  test('that was not requested is an invalid response', async () => {
    for (const line of ['', 'Upgrade: websocket\r\n', 'Connection: Upgrade\r\nUpgrade: h2c\r\n']) {
      const { client, dispatcher } = startProxy();
      await exchange(
        { client, origin: dispatcher.origin() },
        `GET http://a.example/ HTTP/1.1\r\n${line}\r\n`,
        'HTTP/1.1 101 Ok\r\nUpgrade: x\r\n\r\n',
      );
      assert.equal((await client.response()).status, 502);
    }
  });
});

describe('a request in origin form', () => {
  test('is rejected unless it is allowed', async () => {
    for (const line of ['GET / HTTP/1.1', 'OPTIONS * HTTP/1.1']) {
      const { client, dispatcher, served } = startProxy();
      await client.send(`${line}\r\nHost: a.example\r\n\r\n`);
      assert.equal((await client.response()).status, 400);
      assert.equal(await client.rest(), '');
      await client.end();
      assert.equal(await served, undefined);
      assert.equal(dispatcher.streams.length, 0);
    }
  });

  test('is sent to its Host, with the default port 80', async () => {
    const hosts: readonly (readonly [string, string])[] = [
      ['a.example', 'a.example 80'],
      ['a.example:8080', 'a.example 8080'],
      ['[::1]:81', '::1 81'],
    ];
    for (const [host, destination] of hosts) {
      const { client, dispatcher } = startProxy({ allowTransparent: true });
      await client.send(`GET /x HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
      const origin = await dispatcher.origin();
      assert.equal(await origin.head(), `GET /x HTTP/1.1\r\nHost: ${host}`);
      assert.deepEqual(dispatcher.destinations, [destination]);
    }
  });

  test('without a valid Host is rejected', async () => {
    for (const host of ['', 'Host:\r\n', 'Host: a b\r\n', 'Host: a:0\r\n', 'Host: u@a\r\n']) {
      const { client, dispatcher } = startProxy({ allowTransparent: true });
      await client.send(`GET / HTTP/1.1\r\n${host}\r\n`);
      assert.equal((await client.response()).status, 400, host);
      assert.equal(dispatcher.streams.length, 0);
    }
  });
});
