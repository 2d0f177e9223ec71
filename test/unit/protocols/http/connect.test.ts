import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { DialError, type DialErrorCode } from '../../../../src/net/errors.ts';
import { session, settle, startProxy } from '../../../support/protocols/http/support.ts';

describe('CONNECT', () => {
  test('opens a tunnel in which half-closes pass both ways', async () => {
    const { client, dispatcher, served } = startProxy();
    await client.send('CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\n\r\n');
    assert.equal(await client.head(), 'HTTP/1.1 200 Connection established');
    const origin = await dispatcher.origin();
    await client.send('question');
    await client.end();
    assert.equal(await origin.rest(), 'question');
    await origin.send('late response');
    await origin.end();
    assert.equal(await client.rest(), 'late response');
    assert.equal(await served, undefined);
    assert.equal(dispatcher.live, 0);
  });

  test('gives the dispatcher the client and its destination', async () => {
    const { client, dispatcher } = startProxy();
    await client.send('CONNECT [2001:db8::1]:8443 HTTP/1.1\r\n\r\n');
    await client.head();
    const [request] = dispatcher.requests;
    assert.deepEqual(request?.destination, { host: '2001:db8::1', port: 8443 });
    assert.ok(request?.origin.standing?.stands);
    assert.deepEqual(request.origin, {
      inbound: 'http-in',
      source: '192.0.2.9',
      user: undefined,
      session,
      standing: request.origin.standing,
    });
    assert.equal(request.sniff, true);
  });

  test('is sniffed only where the inbound sniffs', async () => {
    const { client, dispatcher } = startProxy({}, { sniffing: false });
    await client.send('CONNECT 192.0.2.1:443 HTTP/1.1\r\n\r\n');
    await client.head();
    assert.equal(dispatcher.requests[0]?.sniff, false);
  });

  test('hands over what the client sent early', async () => {
    const { client, dispatcher } = startProxy();
    const dialled = Promise.withResolvers<void>();
    dispatcher.dialing = dialled.promise;
    await client.send('CONNECT a.example:443 HTTP/1.1\r\n\r\n\x16\x03\x01 with the head');
    await settle();
    await client.send(', before the dial was done');
    await settle();
    dialled.resolve();
    await client.head();
    const origin = await dispatcher.origin();
    await client.send(' and after');
    await client.end();
    assert.equal(
      await origin.rest(),
      '\x16\x03\x01 with the head, before the dial was done and after',
    );
  });

  test('accepts HTTP/1.0 and a Content-Length of 0', async () => {
    const { client } = startProxy();
    await client.send('CONNECT a.example:443 HTTP/1.0\r\nContent-Length: 0\r\n\r\n');
    assert.match(await client.head(), /^HTTP\/1\.1 200 /);
  });

  const statuses: readonly (readonly [DialErrorCode, number])[] = [
    ['refused', 502],
    ['unreachable_host', 502],
    ['unreachable_network', 502],
    ['unresolved', 502],
    ['not_found', 502],
    ['upstream', 502],
    ['failed', 502],
    ['timed_out', 504],
    ['blocked', 403],
    ['unsupported', 501],
    ['aborted', 503],
  ];
  for (const [code, status] of statuses) {
    test(`that fails as ${code} gets the response ${status} with the reason`, async () => {
      const { client, dispatcher } = startProxy();
      dispatcher.failure = new DialError(code, 'a.example:443: no way there');
      await client.send('CONNECT a.example:443 HTTP/1.1\r\n\r\n');
      const response = await client.response();
      assert.equal(response.status, status);
      assert.match(response.head, /\r\nContent-Type: text\/plain/);
      assert.equal(response.text, 'a.example:443: no way there\n');
    });
  }

  test('that failed leaves the connection to the next request', async () => {
    const { client, dispatcher, served } = startProxy();
    dispatcher.failure = new DialError('refused', 'connection refused');
    await client.send('CONNECT a.example:1 HTTP/1.1\r\n\r\n');
    assert.equal((await client.response()).status, 502);
    dispatcher.failure = undefined;
    await client.send('CONNECT a.example:2 HTTP/1.1\r\n\r\n');
    assert.match(await client.head(), / 200 /);
    const origin = await dispatcher.origin();
    await client.end();
    await origin.end();
    assert.equal(await served, undefined);
    assert.deepEqual(dispatcher.destinations, ['a.example 1', 'a.example 2']);
  });

  test('that failed closes when bytes for the tunnel follow it: they are no request', async () => {
    const { client, dispatcher, served } = startProxy();
    dispatcher.failure = new DialError('refused', 'connection refused');
    await client.send('CONNECT a.example:1 HTTP/1.1\r\n\r\nGET http://b.example/ HTTP/1.1\r\n\r\n');
    const response = await client.response();
    assert.match(response.head, /\r\nConnection: close/);
    assert.equal(await client.rest(), '');
    await client.end();
    assert.equal(await served, undefined);
    assert.deepEqual(dispatcher.destinations, ['a.example 1']);
  });

  test('with a body is rejected', async () => {
    for (const line of ['Content-Length: 3', 'Transfer-Encoding: chunked']) {
      const { client, dispatcher } = startProxy();
      await client.send(`CONNECT a.example:443 HTTP/1.1\r\n${line}\r\n\r\nabc`);
      assert.equal((await client.response()).status, 400);
      assert.equal(dispatcher.requests.length, 0);
    }
  });

  test('aborts the dial when the client has closed', async () => {
    const { client, dispatcher, served } = startProxy();
    const dialled = Promise.withResolvers<void>();
    dispatcher.dialing = dialled.promise;
    await client.send('CONNECT a.example:443 HTTP/1.1\r\n\r\n');
    await settle();
    client.link.destroy(new Error('gone'));
    dialled.resolve();
    assert.match(String(await served), /gone/);
    assert.equal(dispatcher.live, 0);
  });
});

describe('an inbound with accounts', () => {
  const accounts = [{ user: 'ann', pass: 'secret' }];
  const authorization = `Proxy-Authorization: Basic ${Buffer.from('ann:secret').toString('base64')}`;

  test('responds 407, and the client can try again on the same connection', async () => {
    const { client, dispatcher } = startProxy({ accounts });
    await client.send('CONNECT a.example:443 HTTP/1.1\r\n\r\n');
    const response = await client.response();
    assert.equal(response.status, 407);
    assert.match(response.head, /\r\nProxy-Authenticate: Basic realm="/);
    assert.doesNotMatch(response.head, /close/);
    await client.send(`CONNECT a.example:443 HTTP/1.1\r\n${authorization}\r\n\r\n`);
    assert.match(await client.head(), / 200 /);
    assert.equal(dispatcher.requests[0]?.origin.user, 'ann');
  });

  test('names the user with plain requests as well, and keeps the password to itself', async () => {
    const { client, dispatcher } = startProxy({ accounts });
    await client.send(`GET http://a.example/ HTTP/1.1\r\n${authorization}\r\n\r\n`);
    const origin = await dispatcher.origin();
    assert.equal(await origin.head(), 'GET / HTTP/1.1\r\nHost: a.example');
    assert.equal(dispatcher.requests[0]?.origin.user, 'ann');
  });

  test('drains the body of a rejected request', async () => {
    const { client } = startProxy({ accounts });
    const bodies = [
      'Content-Length: 5\r\n\r\nhello',
      'Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    ];
    for (const body of bodies) {
      await client.send(`POST http://a.example/ HTTP/1.1\r\n${body}`);
      assert.equal((await client.response()).status, 407);
    }
    await client.send('GET http://a.example/ HTTP/1.1\r\n\r\n');
    assert.equal((await client.response()).status, 407);
  });

  test('closes when the body of a rejected request is too long to drain', async () => {
    const { client, served } = startProxy({ accounts });
    await client.send('POST http://a.example/ HTTP/1.1\r\nContent-Length: 9999999\r\n\r\n');
    const response = await client.response();
    assert.equal(response.status, 407);
    assert.match(response.head, /\r\nConnection: close/);
    await client.end();
    assert.equal(await served, undefined);
  });

  test('closes when a chunked body turns out to be too long', async () => {
    const { client, served } = startProxy({ accounts });
    await client.send('POST http://a.example/ HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n');
    assert.equal((await client.response()).status, 407);
    const chunk = `10000\r\n${'x'.repeat(65_536)}\r\n`;
    for (let sent = 0; sent < 6; sent++) await client.send(chunk);
    assert.equal(await client.rest(), '');
    await client.end();
    assert.equal(await served, undefined);
  });

  test('closes when a body is held back until it is wanted', async () => {
    const { client } = startProxy({ accounts });
    const head =
      'POST http://a.example/ HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n';
    await client.send(head);
    assert.match((await client.response()).head, /\r\nConnection: close/);
  });

  test('stops draining a rejected body that does not arrive', async () => {
    const { client, clock, served } = startProxy({ accounts });
    await client.send('POST http://a.example/ HTTP/1.1\r\nContent-Length: 5\r\n\r\nhel');
    assert.equal((await client.response()).status, 407);
    await settle();
    clock.advance(10_000);
    assert.equal(await client.rest(), '');
    await client.end();
    assert.equal(await served, undefined);
  });
});
