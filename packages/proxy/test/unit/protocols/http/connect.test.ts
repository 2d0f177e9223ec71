import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { DialError } from '@weir/io';
import { settle } from '../../../../../../test/support/settle.ts';
import { startProxy } from '../../../../../../test/support/protocols/http/support.ts';

describe('CONNECT', () => {
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
      assert.equal(dispatcher.streams.length, 0);
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
    assert.equal(dispatcher.streams[0]?.origin.user, 'ann');
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
