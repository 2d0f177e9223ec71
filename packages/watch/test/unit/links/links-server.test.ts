import assert from 'node:assert/strict';
import { once } from 'node:events';
import { request, type IncomingMessage, type RequestOptions } from 'node:http';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { LinkUsers } from '../../../src/links/link-users.ts';
import {
  type LinksServer,
  type LinksServerOptions,
  startLinksServer,
} from '../../../src/links/links-server.ts';
import { changeLinks, readLinks, withToken } from '../../../src/links/token-file.ts';
import { parseUserinfo } from '../../../../nodes/src/subscribe/files/state-file.ts';
import { scratch } from '../../../../../test/support/process/weir.ts';

const ANN = `{ password = "secret of ann", email = "ann" }`;
const BOB = `{ password = "secret of bob", email = "bob" }`;
const config = (...users: readonly string[]): string => `
[[inbound]]
tag = "trojan"
protocol = "trojan"
listen = "0.0.0.0"
port = 8443
settings = { users = [${users.join(', ')}] }
[[inbound]]
tag = "local"
protocol = "http"
port = 8080
settings = { accounts = [{ user = "operator", pass = "x" }] }
[[outbound]]
tag = "direct"
protocol = "freedom"
`;

/** What all forms can express. */
const SOCKS = `
[[inbound]]
tag = "socks"
protocol = "socks"
listen = "0.0.0.0"
port = 1080
settings = { auth = "password", accounts = [{ user = "ann", pass = "secret of ann" }] }
[[outbound]]
tag = "direct"
protocol = "freedom"
`;

/** A server of links with its files. */
class Fixture implements AsyncDisposable {
  readonly users: LinkUsers;
  readonly notes: string[];
  readonly links: LinksServer;
  readonly #folder: Awaited<ReturnType<typeof scratch>>;
  /** Milliseconds of the server's clock. */
  readonly time: { now: number };

  private constructor(
    folder: Awaited<ReturnType<typeof scratch>>,
    users: LinkUsers,
    notes: string[],
    links: LinksServer,
    time: { now: number },
  ) {
    this.#folder = folder;
    this.users = users;
    this.notes = notes;
    this.links = links;
    this.time = time;
  }

  static async start(
    text = config(ANN, BOB),
    more: Partial<LinksServerOptions> = {},
  ): Promise<Fixture> {
    const folder = await scratch();
    await writeFile(join(folder.path, 'weir.toml'), text);
    const notes: string[] = [];
    const users = await LinkUsers.open({
      config: join(folder.path, 'weir.toml'),
      tokens: join(folder.path, 'links.json'),
      reach: () => () => ({
        host: 'proxy.example.com',
        port: undefined,
        frontTls: false,
        serverName: undefined,
        insecure: false,
        roots: () => [],
        now: 0,
      }),
      note: (note) => notes.push(note),
      now: () => 0,
    });
    const time = { now: 0 };
    const links = await startLinksServer({
      listen: { kind: 'tcp', host: '127.0.0.1', port: 0, tls: undefined },
      users,
      base: () => 'https://proxy.example.com/links/',
      title: 'Home',
      interval: 12,
      quota: () => Promise.resolve(undefined),
      trusted: [],
      onDefect: (error) => assert.fail(String(error)),
      now: () => time.now,
      ...more,
    });
    return new Fixture(folder, users, notes, links, time);
  }

  get tokenFile(): string {
    return join(this.#folder.path, 'links.json');
  }

  write(text: string): Promise<void> {
    return writeFile(join(this.#folder.path, 'weir.toml'), text);
  }

  async pathOf(user: string): Promise<string> {
    return `/links/${(await readLinks(this.tokenFile)).tokens.get(user)?.token}`;
  }

  async ask(path: string, options: RequestOptions = {}) {
    // Each request is of another second, so that only the tests of rates are limited.
    this.time.now += 1000;
    return this.askAgain(path, options);
  }

  async askAgain(path: string, options: RequestOptions = {}) {
    const { port } = this.links.server;
    const sent = request({ host: '127.0.0.1', port, path, agent: false, ...options }).end();
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    const chunks: Buffer[] = [];
    for await (const chunk of response as AsyncIterable<Buffer>) chunks.push(chunk);
    const { date: _, ...headers } = response.headers;
    return { status: response.statusCode, headers, body: Buffer.concat(chunks).toString() };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.links[Symbol.asyncDispose]();
    await this.#folder[Symbol.asyncDispose]();
  }
}

describe('a server of links', () => {
  test('gives a user its servers alone', async () => {
    await using server = await Fixture.start();
    const { status, headers, body } = await server.ask(await server.pathOf('ann'));
    assert.equal(status, 200);
    assert.equal(
      Buffer.from(body, 'base64').toString(),
      'trojan://secret%20of%20ann@proxy.example.com:8443?security=none&type=tcp#proxy.example.com%20trojan%20ann\n',
    );
    assert.equal(headers['profile-title'], 'Home');
    assert.equal(headers['profile-update-interval'], '12');
    assert.equal(headers['cache-control'], 'no-store');
    assert.equal(headers['referrer-policy'], 'no-referrer');
    assert.equal(headers['subscription-userinfo'], undefined);
    assert.equal(
      headers['content-disposition'],
      `attachment; filename="Home.txt"; filename*=UTF-8''Home`,
    );
    const head = await server.ask(await server.pathOf('ann'), { method: 'HEAD' });
    assert.deepEqual(head, { status, headers, body: '' });
  });

  test('has the quota of the user in a header that weir subscribe reads, and a title of any letters', async () => {
    const quota = { upload: 1, download: 2, total: 100, expire: 1_801_440_000 };
    await using server = await Fixture.start(undefined, {
      title: 'Zuhause ü',
      quota: (user) => Promise.resolve(user === 'ann' ? quota : undefined),
    });
    const { headers } = await server.ask(await server.pathOf('ann'));
    assert.deepEqual(parseUserinfo(String(headers['subscription-userinfo'])), quota);
    assert.equal(headers['profile-title'], `base64:${Buffer.from('Zuhause ü').toString('base64')}`);
    assert.equal(
      headers['content-disposition'],
      `attachment; filename="Zuhause__.txt"; filename*=UTF-8''Zuhause%20%C3%BC`,
    );
    const others = await server.ask(await server.pathOf('bob'));
    assert.equal(others.headers['subscription-userinfo'], undefined);
  });

  test('chooses the form by the program, the query before it', async () => {
    await using server = await Fixture.start(SOCKS);
    const path = await server.pathOf('ann');
    const clash = await server.ask(path, { headers: { 'User-Agent': 'clash-verge/v2' } });
    assert.match(clash.body, /^proxies:$/m);
    const named = await server.ask(`${path}?format=xray`, {
      headers: { 'User-Agent': 'clash-verge/v2' },
    });
    assert.equal(named.headers['content-type'], 'application/json');
    const page = await server.ask(path, { headers: { Accept: 'text/html' } });
    assert.match(page.body, /^<!doctype html>/);
    assert.ok(page.body.includes(`https://proxy.example.com${path}`));
    assert.equal((await server.ask(`${path}?format=surge`)).status, 400);
  });

  test('has one response for everything without a token', async () => {
    await using server = await Fixture.start();
    const path = await server.pathOf('ann');
    const unknown = await server.ask(`/links/${'A'.repeat(43)}`);
    assert.equal(unknown.status, 404);
    const others: readonly [string, RequestOptions?][] = [
      ['/'],
      ['/links/'],
      ['/links'],
      [path.replace('/links', '')],
      [`/links${path}`],
      [`${path}x`],
      [path.slice(0, -1)],
      [`${path}/more`],
      ['/links/ann'],
      ['/favicon.ico'],
      [`/%6cinks${path.slice(6)}`],
      [path, { method: 'POST' }],
      [path, { method: 'DELETE' }],
      [path, { method: 'OPTIONS' }],
      ['/links/x?format=clash'],
      [`/links/${'x'.repeat(8000)}`],
    ];
    for (const [each, options] of others) {
      const answer = await server.ask(each, options);
      assert.deepEqual(answer, unknown, `${options?.method ?? 'GET'} ${each}`);
    }
  });

  test('forgets a user that is removed from the file, and gives a new one of that name another link', async () => {
    await using server = await Fixture.start();
    const before = await server.pathOf('ann');
    await server.write(config(BOB));
    assert.equal((await server.ask(before)).status, 404);
    assert.equal((await server.ask(await server.pathOf('bob'))).status, 200);
    await server.write(config(BOB, ANN));
    assert.equal((await server.ask(before)).status, 404);
    assert.notEqual(await server.pathOf('ann'), before);
    assert.equal((await server.ask(await server.pathOf('ann'))).status, 200);
  });

  test('uses a new token from the next request on', async () => {
    await using server = await Fixture.start();
    const before = await server.pathOf('ann');
    await changeLinks(server.tokenFile, (links) => withToken(links, 'ann', 0));
    assert.equal((await server.ask(before)).status, 404);
    assert.equal((await server.ask(await server.pathOf('ann'))).status, 200);
  });

  test('stays with the users of before while a file is invalid, and says so once', async () => {
    await using server = await Fixture.start();
    const path = await server.pathOf('ann');
    server.notes.length = 0;
    await server.write('[[inbound');
    for (let at = 0; at < 3; at++) assert.equal((await server.ask(path)).status, 200);
    assert.equal(server.notes.length, 1);
    assert.match(server.notes[0] ?? '', /^the users are those of before: /);
    await server.write(config(BOB));
    assert.equal((await server.ask(path)).status, 404);
  });

  test('has no link for a number in a list, and says what no client can reach', async () => {
    await using server = await Fixture.start(config(ANN, '{ password = "secret of none" }'));
    assert.deepEqual([...(await readLinks(server.tokenFile)).tokens.keys()].toSorted(), [
      'ann',
      'operator',
    ]);
    assert.deepEqual(server.notes.length, 2);
    assert.match(
      server.notes.join('\n'),
      /^1 user without a name: no link\ninbound "local" is in no link: it listens on 127\.0\.0\.1 alone/,
    );
    const answer = await server.ask(await server.pathOf('operator'));
    assert.equal(answer.status, 406);
  });

  test('has no link for the beginning of an id that several users have', async () => {
    const id = (first: string, last: string): string =>
      `{ id = "${first}-0000-4000-8000-${last.padStart(12, '0')}" }`;
    let port = 8443;
    const inbound = (protocol: string, ...ids: readonly string[]): string =>
      `[[inbound]]\ntag = "${protocol}"\nprotocol = "${protocol}"\nlisten = "0.0.0.0"\nport = ${port++}\nsettings = { users = [${ids.join(', ')}] }\n`;
    const [same, other, alone] = [id('aaaaaaaa', '1'), id('aaaaaaaa', '2'), id('bbbbbbbb', '3')];
    const outbound = '[[outbound]]\ntag = "direct"\nprotocol = "freedom"\n';
    const text = inbound('vless', same, alone) + inbound('vmess', other, alone);
    await using server = await Fixture.start(text + outbound);
    assert.deepEqual([...(await readLinks(server.tokenFile)).tokens.keys()], ['bbbbbbbb']);
    assert.deepEqual(server.notes, ['2 users without a name: no link']);
    const { body } = await server.ask(`${await server.pathOf('bbbbbbbb')}?format=links`);
    assert.match(body, /^vless:.*\nvmess:.*\n$/);
  });

  test('limits the rate of a source, whatever it asks for', async () => {
    await using server = await Fixture.start(undefined, {
      trusted: [{ address: '127.0.0.1', prefix: 32 }],
    });
    const path = await server.pathOf('ann');
    const from = (address: string) => ({
      headers: { 'X-Forwarded-For': `203.0.113.9, ${address}` },
    });
    for (let at = 0; at < 30; at++) {
      assert.equal((await server.askAgain('/', from('192.0.2.1'))).status, 404);
    }
    const limited = await server.askAgain(path, from('192.0.2.1'));
    assert.equal(limited.status, 429);
    assert.equal(limited.headers['retry-after'], '1');
    assert.equal((await server.askAgain(path, from('192.0.2.2'))).status, 200);
    server.time.now += 1000;
    assert.equal((await server.askAgain(path, from('192.0.2.1'))).status, 200);
  });

  test('gives any request target the response of none', async () => {
    await using server = await Fixture.start();
    const target = fc.oneof(
      fc.webPath(),
      fc.string({
        unit: fc.integer({ min: 0x21, max: 0x7e }).map((code) => String.fromCharCode(code)),
      }),
    );
    await fc.assert(
      fc.asyncProperty(target, async (path) => {
        const { status } = await server.ask(`/links/${path}`);
        assert.ok(status === 404 || status === 400, `${status} ${path}`);
      }),
      { numRuns: 200 },
    );
  });
});
