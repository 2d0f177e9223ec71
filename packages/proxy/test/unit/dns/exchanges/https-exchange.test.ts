import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { HttpsExchange } from '../../../../src/dns/exchanges/https-exchange.ts';
import {
  a,
  reply,
  soa,
  startHttpsDns,
  type HttpOverride,
  type Script,
} from '../../../../../../test/support/peers/dns-server.ts';
import { ManualClock } from '../../../../../../test/support/manual-clock.ts';
import { TestAuthority } from '../../../../../../test/support/data/test-certificates.ts';
import { good, keptConnectionSuite, never, question } from './kept-connection-suite.ts';

const authority = new TestAuthority();
const certificate = authority.issue({ dns: ['dns.test'] });
const ca = { file: 'ca.pem', certificates: [authority.cert] };

for (const version of ['h2', 'h1'] as const) {
  const named = version === 'h2' ? 'HTTP/2' : 'HTTP/1.1';

  const harness = async (
    t: TestContext,
    script: Script,
    {
      http = {},
      host = 'dns.test',
      path = '/dns-query',
    }: { http?: HttpOverride; host?: string; path?: string } = {},
  ) => {
    const server = await startHttpsDns(t, certificate, version, script);
    server.http = http;
    const clock = new ManualClock();
    const exchange = new HttpsExchange({ server, host, path, ca, clock });
    t.after(() => exchange.close());
    return { server, clock, exchange };
  };

  keptConnectionSuite(named, harness);

  test(`${named}: a question is posted to the path, with the host of the URL`, async (t) => {
    const { server, exchange } = await harness(t, good, { path: '/ask?x=1' });
    const found = await exchange.ask(question('a.example'), never);
    assert.equal(found.records[0]?.data, '192.0.2.1');
    const [asked] = server.asked;
    assert.equal(asked?.over, version);
    assert.deepEqual(asked.http, { method: 'POST', path: '/ask?x=1', host: 'dns.test' });
    assert.equal(asked.id, 0);
    assert.equal(asked.message.length, 128);
  });

  test(`${named}: questions asked together are under way together`, async (t) => {
    const both = Promise.withResolvers<void>();
    const { exchange, server } = await harness(t, async (asked) => {
      if (server.asked.length === 2) both.resolve();
      await both.promise;
      return good(asked);
    });
    const found = await Promise.all(
      ['a.example', 'b.example'].map((name) => exchange.ask(question(name), never)),
    );
    assert.deepEqual(
      found.map(({ records }) => records[0]?.owner),
      ['a.example', 'b.example'],
    );
  });

  test(`${named}: time in caches on the way counts as age`, async (t) => {
    const { exchange } = await harness(
      t,
      (asked) =>
        reply(asked, {
          answers: [a(asked.name, '192.0.2.1', 60), a(asked.name, '192.0.2.2', 20)],
          authorities: [soa('example', 90, 90)],
        }),
      { http: { headers: { age: '25' } } },
    );
    const found = await exchange.ask(question('a.example'), never);
    assert.deepEqual(
      found.records.map(({ ttl }) => ttl),
      [35, 0],
    );
    assert.equal(found.authority?.ttl, 65);
  });

  test(`${named}: a server that rejects EDNS is asked without it`, async (t) => {
    const { exchange } = await harness(t, (asked) =>
      asked.payloadSize === undefined ? good(asked) : reply(asked, { rcode: 1 }),
    );
    assert.equal((await exchange.ask(question('a.example'), never)).records.length, 1);
  });

  const refused: Readonly<Record<string, [HttpOverride, RegExp]>> = {
    'an HTTP status other than 200': [{ status: 503 }, /responded with HTTP status 503$/],
    'a redirect': [
      { status: 302, headers: { location: 'https://elsewhere.test/' } },
      /responded with HTTP status 302$/,
    ],
    'another content type': [
      { headers: { 'content-type': 'text/html; charset=utf-8' } },
      /responded with text\/html, not a DNS message$/,
    ],
  };
  for (const [what, [http, message]] of Object.entries(refused)) {
    test(`${named}: ${what} is a failure of the server`, async (t) => {
      const { exchange } = await harness(t, good, { http });
      await assert.rejects(exchange.ask(question('a.example'), never), {
        code: 'upstream',
        message,
      });
    });
  }

  test(`${named}: failed responses hold no socket`, async (t) => {
    const { exchange } = await harness(t, good, { http: { status: 503 } });
    for (let i = 0; i < 20; i++) {
      await assert.rejects(exchange.ask(question('a.example'), never), { code: 'upstream' });
    }
  });

  test(`${named}: an answer to another question, or a malformed one, is a failure`, async (t) => {
    const { exchange } = await harness(t, (asked) =>
      asked.name === 'cut.example'
        ? good(asked).subarray(0, -1)
        : reply(asked, { name: 'evil.example', answers: [a('evil.example', '192.0.2.66')] }),
    );
    await assert.rejects(exchange.ask(question('a.example'), never), {
      code: 'upstream',
      message: /the answer is to another question$/,
    });
    await assert.rejects(exchange.ask(question('cut.example'), never), {
      code: 'upstream',
      message: /the DNS answer is truncated$/,
    });
  });

  test(`${named}: a response longer than a DNS message is a failure`, async (t) => {
    const { exchange } = await harness(t, () => Buffer.alloc(65_536));
    await assert.rejects(exchange.ask(question('a.example'), never), {
      code: 'upstream',
      message: /the response is longer than a DNS message can be$/,
    });
  });

  test(`${named}: an abort ends one question and leaves the others`, async (t) => {
    const arrival = Promise.withResolvers<void>();
    const { exchange } = await harness(t, (asked) => {
      if (asked.name !== 'slow.example') return good(asked);
      arrival.resolve();
      return undefined;
    });
    const controller = new AbortController();
    const waiting = exchange.ask(question('slow.example'), controller.signal);
    await arrival.promise;
    controller.abort(new Error('gone'));
    await assert.rejects(waiting, { code: 'aborted' });
    assert.equal((await exchange.ask(question('a.example'), never)).records.length, 1);
  });

  test(`${named}: the certificate is verified against the host of the URL`, async (t) => {
    for (const host of ['other.test', '127.0.0.1', '[', 'dns.test\r\nx: y']) {
      const { server, exchange } = await harness(t, good, { host });
      await assert.rejects(exchange.ask(question('a.example'), never), { code: 'upstream' });
      assert.equal(server.asked.length, 0);
    }
  });
}
