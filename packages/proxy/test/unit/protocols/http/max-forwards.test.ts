import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { startProxy, type Peer } from '../../../../../../test/support/protocols/http/support.ts';

const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n';

/** The head that reaches the origin for a request. */
async function forwarded(method: string, fields: string): Promise<string> {
  const { client, dispatcher } = startProxy();
  await client.send(`${method} http://a.example/x HTTP/1.1\r\n${fields}\r\n`);
  return (await dispatcher.origin()).head();
}

/** The response of the proxy itself, after which the connection must be usable. */
async function answered(client: Peer, request: string): Promise<{ head: string; text: string }> {
  await client.send(request);
  return client.response();
}

describe('Max-Forwards (RFC 9110 §7.6.2)', () => {
  test('is sent on one lower with TRACE and OPTIONS', async () => {
    for (const method of ['TRACE', 'OPTIONS']) {
      assert.match(await forwarded(method, 'max-forwards: 10\r\n'), /\r\nmax-forwards: 9$/);
      assert.match(await forwarded(method, 'Max-Forwards: 1\r\n'), /\r\nMax-Forwards: 0$/);
      assert.match(await forwarded(method, 'Max-Forwards: 007\r\n'), /\r\nMax-Forwards: 6$/);
      assert.match(
        await forwarded(method, 'A: b\r\nMax-Forwards: 5\r\nC: d\r\n'),
        /\r\nA: b\r\nMax-Forwards: 4\r\nC: d$/,
      );
    }
  });

  test('is sent on as the highest number that others read when it is higher', async () => {
    const digits = '9'.repeat(400);
    const head = await forwarded('TRACE', `Max-Forwards: ${digits}\r\n`);
    assert.match(head, /\r\nMax-Forwards: 2147483647$/);
  });

  test('of 0 makes a TRACE show no user information of its target', async () => {
    const { client } = startProxy();
    const request = 'TRACE http://u:p@a.example/x HTTP/1.1\r\nMax-Forwards: 0\r\nA: b\r\n\r\n';
    const { text } = await answered(client, request);
    assert.match(text, /^TRACE http:\/\/a\.example\/x HTTP\/1\.1\r\n/);
  });

  test('is not added, and means nothing with another method', async () => {
    assert.equal(await forwarded('TRACE', ''), 'TRACE /x HTTP/1.1\r\nHost: a.example');
    const fields = 'Max-Forwards: 0\r\nMax-Forwards: x\r\n';
    assert.match(await forwarded('GET', fields), /\r\nMax-Forwards: 0\r\nMax-Forwards: x$/);
    assert.match(await forwarded('trace', 'Max-Forwards: 0\r\n'), /\r\nMax-Forwards: 0$/);
  });

  test('that is not a number, or is repeated, is rejected', async () => {
    for (const value of ['', '-1', '+1', '1.0', '0x1', '1, 1', '1\r\nMax-Forwards: 1']) {
      const { client, dispatcher } = startProxy();
      const request = `OPTIONS http://a.example/ HTTP/1.1\r\nMax-Forwards: ${value}\r\n\r\n`;
      assert.match((await answered(client, request)).head, /^HTTP\/1\.1 400 /, value);
      assert.deepEqual(dispatcher.streams, []);
    }
  });

  test('of 0 makes the proxy respond to OPTIONS with the methods that it forwards', async () => {
    for (const target of ['http://a.example', 'http://a.example/x']) {
      const { client, dispatcher } = startProxy();
      const request = `OPTIONS ${target} HTTP/1.1\r\nMax-Forwards: 0\r\n\r\n`;
      const { head, text } = await answered(client, request);
      assert.equal(
        head,
        'HTTP/1.1 200 OK\r\n' +
          'Allow: CONNECT, DELETE, GET, HEAD, OPTIONS, PATCH, POST, PUT, TRACE\r\n' +
          'Content-Length: 0',
      );
      assert.equal(text, '');
      assert.deepEqual(dispatcher.streams, []);
    }
  });

  test('of 0 makes the proxy send a TRACE back without what is secret in it', async () => {
    const { client, dispatcher } = startProxy({ accounts: [{ user: 'alice', pass: 'secret' }] });
    const credentials = Buffer.from('alice:secret').toString('base64');
    const request = 'TRACE http://a.example/x?y HTTP/1.1\r\nHost: b.example\r\nMax-Forwards: 0\r\n';
    const { head, text } = await answered(
      client,
      `${request}Proxy-Authorization: Basic ${credentials}\r\nAuthorization: Bearer t\r\n` +
        'COOKIE: a=b\r\nVia: 1.1 other\r\nX-Odd: \xe9\r\n\r\n',
    );
    const echo = `${request}Via: 1.1 other\r\nX-Odd: \xe9\r\n\r\n`;
    assert.equal(
      head,
      `HTTP/1.1 200 OK\r\nContent-Type: message/http\r\nContent-Length: ${echo.length}`,
    );
    assert.equal(text, echo);
    assert.deepEqual(dispatcher.streams, []);
  });

  test('of 0 gets a response only for users of the proxy', async () => {
    const { client } = startProxy({ accounts: [{ user: 'alice', pass: 'secret' }] });
    const request = 'TRACE http://a.example/ HTTP/1.1\r\nMax-Forwards: 0\r\n\r\n';
    assert.match((await answered(client, request)).head, /^HTTP\/1\.1 407 /);
  });

  test('of 0 leaves the connection to the next request, after a body is drained', async () => {
    const { client, dispatcher } = startProxy();
    await answered(
      client,
      'OPTIONS http://a.example/ HTTP/1.1\r\nMax-Forwards: 0\r\nContent-Length: 5\r\n\r\nhello',
    );
    await client.send('GET http://a.example/ HTTP/1.1\r\n\r\n');
    const origin = await dispatcher.origin();
    assert.match(await origin.head(), /^GET /);
    await origin.send(OK);
    assert.match(await client.head(), /^HTTP\/1\.1 200 OK/);
  });

  test('of 0 closes the connection of an HTTP/1.0 client', async () => {
    const { client } = startProxy();
    await client.send('TRACE http://a.example/ HTTP/1.0\r\nMax-Forwards: 0\r\n\r\n');
    const { head, text } = await client.response();
    assert.match(head, /\r\nConnection: close$/);
    assert.equal(text, 'TRACE http://a.example/ HTTP/1.0\r\nMax-Forwards: 0\r\n\r\n');
    assert.equal(await client.rest(), '');
  });
});
