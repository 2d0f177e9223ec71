import assert from 'node:assert/strict';
import { once } from 'node:events';
import { describe, test } from 'node:test';
import type {
  AuthorizeQuestion,
  RouteQuestion,
  StartOptions,
} from '../../packages/weir/src/index.ts';
import { parseAddress, type Address } from '../support/data/address.ts';
import { startLibrary, type HostedWeir } from '../support/library/start.ts';
import { httpConnect } from '../support/peers/http-client.ts';
import { echoServer, udpServer, webServer, type Origin } from '../support/peers/servers.ts';
import { socksConnect, socksReply, SocksRefused } from '../support/peers/socks-client.ts';
import { blackhole, freedom, httpIn, rule, socksIn } from '../support/process/config.ts';
import { roundTrip } from '../support/read.ts';
import { eventually, within } from '../support/wait.ts';

const OUT = freedom('direct') + freedom('other') + blackhole();
const ACCOUNT = '[inbound.settings]\naccounts = [{ user = "ann", pass = "secret" }]\n';
const PASSWORD =
  '[inbound.settings]\nauth = "password"\naccounts = [{ user = "ann", pass = "secret" }]\n';

interface Subject extends HostedWeir {
  readonly socks: Address;
  readonly http: Address;
}

async function start(
  options: Omit<StartOptions, 'config' | 'onLog'>,
  { socks = '', http = '', more = '' } = {},
): Promise<Subject> {
  const host = await startLibrary(
    socksIn('socks', `sniffing = false\n${socks}`) + httpIn('http', http) + OUT + more,
    options,
  );
  const addressOf = (tag: string): Address => {
    const start = `inbound ${tag} listening on `;
    const line = host.lines.find(({ message }) => message.startsWith(start));
    assert.ok(line);
    return parseAddress(line.message.slice(start.length));
  };
  return { ...host, socks: addressOf('socks'), http: addressOf('http') };
}

const authorityOf = ({ host, port }: Origin): string => `${host}:${port}`;

const basic = (user: string, pass: string): string =>
  `Proxy-Authorization: Basic ${Buffer.from(`${user}:${pass}`).toString('base64')}\r\n`;

/** The status of a CONNECT. */
async function connectStatus(proxy: Address, origin: Origin, fields = ''): Promise<number> {
  const { status, socket } = await httpConnect(proxy, authorityOf(origin), fields);
  socket.destroy();
  return status;
}

/** The SOCKS reply, or the code of the refusal during the negotiation. */
const replyTo = socksReply;

describe('the authorize hook', () => {
  test('decides alone on clients of inbounds without accounts', async () => {
    await using origin = await echoServer();
    const asked: AuthorizeQuestion[] = [];
    await using subject = await start({
      authorize: (question) => {
        asked.push(question);
        return question.user === 'ann' && question.password === 'pass';
      },
    });
    const { socks, http, weir } = subject;
    const ann = { user: 'ann', pass: 'pass' };
    const socket = await socksConnect(socks, origin.target, ann);
    await roundTrip(socket, 'hello');
    assert.equal(weir.connections().flows[0]?.user, 'ann');
    socket.destroy();
    assert.equal(await replyTo(socks, origin.target, { user: 'ann', pass: 'wrong' }), 1);
    assert.equal(await replyTo(socks, origin.target), 0xff);
    assert.equal(await replyTo(socks, origin.target, { version: '4' }), 91);
    assert.equal(await connectStatus(http, origin, basic('ann', 'pass')), 200);
    assert.equal(await connectStatus(http, origin, basic('ann', 'wrong')), 407);
    assert.equal(await connectStatus(http, origin), 407);
    const [source, none] = ['127.0.0.1', { user: undefined, password: undefined }];
    const [right, wrong] = [
      { user: 'ann', password: 'pass' },
      { user: 'ann', password: 'wrong' },
    ];
    assert.deepEqual(asked, [
      { inbound: 'socks', ...right, source },
      { inbound: 'socks', ...wrong, source },
      { inbound: 'socks', ...none, source },
      { inbound: 'socks', ...none, source },
      { inbound: 'http', ...right, source },
      { inbound: 'http', ...wrong, source },
      { inbound: 'http', ...none, source },
    ]);
  });

  test('accepts clients without a password if it likes, under a name of its choice', async () => {
    await using origin = await echoServer();
    await using subject = await start({
      authorize: async ({ source }) => ({ user: `host ${source}` }),
    });
    for (const version of ['4', '5'] as const) {
      const socket = await socksConnect(subject.socks, origin.target, { version });
      assert.equal(subject.weir.connections().flows[0]?.user, 'host 127.0.0.1');
      socket.destroy();
      await eventually('no flow', () => subject.weir.connections().flows.length === 0);
    }
    assert.equal(await connectStatus(subject.http, origin), 200);
  });

  test('is asked only about clients that the accounts of their inbound accept', async () => {
    await using origin = await echoServer();
    let isOpen = true;
    let asked = 0;
    await using subject = await start(
      {
        authorize: () => {
          asked++;
          return isOpen;
        },
      },
      { socks: PASSWORD, http: ACCOUNT },
    );
    const { socks, http } = subject;
    const ann = { user: 'ann', pass: 'secret' };
    assert.equal(await replyTo(socks, origin.target, ann), 0);
    assert.equal(await connectStatus(http, origin, basic('ann', 'secret')), 200);
    assert.equal(asked, 2);
    assert.equal(await replyTo(socks, origin.target, { user: 'ann', pass: 'wrong' }), 1);
    assert.equal(await replyTo(socks, origin.target), 0xff);
    assert.equal(await connectStatus(http, origin, basic('bob', 'secret')), 407);
    assert.equal(asked, 2);
    isOpen = false;
    assert.equal(await replyTo(socks, origin.target, ann), 1);
    assert.equal(await connectStatus(http, origin, basic('ann', 'secret')), 407);
  });

  test('is asked for each request of an HTTP connection', async () => {
    await using origin = await webServer();
    let left = 2;
    await using subject = await start({ authorize: () => left-- > 0 });
    const url = `http://${authorityOf(origin)}/hello`;
    const { Agent, get } = await import('node:http');
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    assert.ok('host' in subject.http);
    const statuses: (number | undefined)[] = [];
    for (let count = 0; count < 3; count++) {
      const request = get({ ...subject.http, path: url, agent });
      const [response] = await once(request, 'response');
      statuses.push(response.statusCode);
      response.resume();
      await once(response, 'end');
    }
    agent.destroy();
    assert.deepEqual(statuses, [200, 200, 407]);
  });

  test('refuses clients when it fails, and says so in the log without the password', async () => {
    await using origin = await echoServer();
    await using subject = await start({
      authorize: ({ password }) => {
        throw new Error(`what is ${password}?`);
      },
    });
    const { socks, http, lines } = subject;
    assert.equal(await replyTo(socks, origin.target, { user: 'ann', pass: 'geheim' }), 1);
    assert.equal(await replyTo(socks, origin.target), 0xff);
    assert.equal(await connectStatus(http, origin, basic('ann', 'geheim')), 503);
    const text = lines.map(({ level, message }) => `${level} ${message}`).join('\n');
    const reason = 'the authorize hook has failed: what is …?';
    assert.match(text, /^error inbound socks: a client was not accepted: the authorize hook/m);
    assert.ok(text.includes(reason));
    assert.ok(!text.includes('geheim'));
  });

  test('is not waited for when the client leaves or the proxy stops', async () => {
    await using origin = await echoServer();
    let asked = 0;
    await using subject = await start({
      authorize: () => {
        asked++;
        return new Promise<boolean>(() => undefined);
      },
    });
    const waiting = socksConnect(subject.socks, origin.target, { user: 'a', pass: 'b' });
    const failed = assert.rejects(waiting);
    const other = httpConnect(subject.http, authorityOf(origin));
    const refused = assert.rejects(other);
    await eventually('both calls', () => asked === 2);
    await within(subject.weir.stop({ graceMs: 0 }), 'the stop');
    await failed;
    await refused;
  });

  test('is not asked about names that are not text, or longer than any user has', async () => {
    await using origin = await echoServer();
    let asked = 0;
    await using subject = await start({
      authorize: () => {
        asked++;
        return true;
      },
    });
    const long = basic('a'.repeat(2_000), 'b');
    assert.equal(await connectStatus(subject.http, origin, long), 407);
    const invalid = `Proxy-Authorization: Basic ${Buffer.from([0xff, 0x3a, 0x61]).toString('base64')}\r\n`;
    assert.equal(await connectStatus(subject.http, origin, invalid), 407);
    assert.equal(asked, 0);
  });
});

describe('the route hook', () => {
  test('names an outbound, refuses, or leaves the flow to the rules', async () => {
    await using origin = await echoServer();
    const asked: RouteQuestion[] = [];
    let answer: string | { readonly refuse: true } | undefined;
    await using subject = await start(
      {
        route: (question) => {
          asked.push(question);
          return answer;
        },
      },
      { more: rule('direct', 'network = "tcp"') },
    );
    const { socks, http, weir, lines } = subject;
    const routed = async (): Promise<unknown> => {
      const socket = await socksConnect(socks, origin.target);
      const { outbound, rule: index } = weir.connections().flows[0] ?? {};
      socket.destroy();
      await eventually('no flow', () => weir.connections().flows.length === 0);
      return [outbound, index];
    };
    assert.deepEqual(await routed(), ['direct', 0]);
    answer = 'other';
    assert.deepEqual(await routed(), ['other', null]);
    answer = { refuse: true };
    await assert.rejects(socksConnect(socks, origin.target), new SocksRefused(2));
    assert.equal(await connectStatus(http, origin), 403);
    answer = 'absent';
    await assert.rejects(socksConnect(socks, origin.target), new SocksRefused(1));
    assert.equal(await connectStatus(http, origin), 502);
    await assert.rejects(weir.connect(origin.target), { code: 'unknown_outbound' });
    const { host, port } = origin;
    assert.deepEqual(asked[0], {
      inbound: 'socks',
      source: '127.0.0.1',
      user: undefined,
      network: 'tcp',
      host,
      port,
      sniffed: undefined,
    });
    const messages = new Set(lines.map(({ message }) => message));
    assert.ok(messages.has(`socks -> tcp ${host}:${port}: refused by the route hook`));
    assert.ok(
      messages.has(`socks -> tcp ${host}:${port}: no outbound or balancer has the tag "absent"`),
    );
  });

  test('is asked about flows of connect without an outbound, and not about others', async () => {
    await using origin = await echoServer();
    const inbounds: string[] = [];
    await using subject = await start({
      route: async ({ inbound }) => {
        inbounds.push(inbound);
        return 'other';
      },
    });
    const { weir } = subject;
    const first = await weir.connect(origin.target);
    const second = await weir.connect({ ...origin.target, outbound: 'direct' });
    const outbounds = weir.connections().flows.map(({ outbound }) => outbound);
    assert.deepEqual([outbounds, inbounds], [['other', 'direct'], ['library']]);
    first.destroy();
    second.destroy();
  });

  test('refuses a flow when it fails, whose client does not learn why', async () => {
    await using origin = await echoServer();
    await using subject = await start({
      route: async () => Promise.reject(new Error('the database is gone')),
    });
    const { http, lines, weir } = subject;
    const { status, socket } = await httpConnect(http, authorityOf(origin));
    const [body] = await once(socket, 'data');
    socket.destroy();
    assert.equal(status, 502);
    assert.equal(String(body), 'the route hook has failed\n');
    assert.ok(lines.some(({ message }) => message.includes('the database is gone')));
    await assert.rejects(weir.connect(origin.target), { name: 'DialError', code: 'failed' });
  });

  test('is not waited for after an abort or a stop', async () => {
    await using origin = await echoServer();
    let asked = 0;
    await using subject = await start({
      route: () => {
        asked++;
        return new Promise<undefined>(() => undefined);
      },
    });
    const { weir, socks } = subject;
    const aborted = new AbortController();
    const first = weir.connect({ ...origin.target, signal: aborted.signal });
    const second = weir.connect(origin.target);
    const third = assert.rejects(socksConnect(socks, origin.target));
    const stopped = assert.rejects(second, { code: 'aborted' });
    await eventually('the calls', () => asked === 3);
    aborted.abort();
    await assert.rejects(first, { name: 'AbortError' });
    await within(weir.stop({ graceMs: 0 }), 'the stop');
    await stopped;
    await third;
  });

  test('routes datagrams by their peer, which wait for it in order', async () => {
    await using one = await udpServer((message) => Buffer.from(`one ${message.toString()}`));
    await using two = await udpServer((message) => Buffer.from(`two ${message.toString()}`));
    const asked: number[] = [];
    const go = Promise.withResolvers<void>();
    await using subject = await start({
      route: async ({ port, network }) => {
        assert.equal(network, 'udp');
        asked.push(port);
        await go.promise;
        return port === one.port ? 'other' : { refuse: true };
      },
    });
    const { weir } = subject;
    await using association = await weir.associate();
    const refused = once(association, 'unreachable');
    for (const text of ['a', 'b']) association.send(text, one);
    association.send('c', two);
    await eventually('both calls', () => asked.length === 2);
    go.resolve();
    const [error, peer] = await refused;
    assert.equal(error.code, 'blocked');
    assert.deepEqual(peer, { host: two.host, port: two.port });
    const received: string[] = [];
    for await (const { data } of association) {
      if (received.push(data.toString()) === 2) break;
    }
    assert.deepEqual(received, ['one a', 'one b']);
    assert.deepEqual(asked, [one.port, two.port]);
  });

  test('knows the name in the first bytes, where its inbound sniffs and a rule needs it', async () => {
    await using origin = await webServer();
    const names: (string | undefined)[] = [];
    const config = socksIn('sniffing') + OUT + rule('direct', 'domain_full = ["b.example"]');
    await using host = await startLibrary(config, {
      route: ({ sniffed }) => void names.push(sniffed),
    });
    const line = host.lines.find(({ message }) => message.startsWith('inbound sniffing'));
    const proxy = parseAddress(/\S+$/.exec(line?.message ?? '')?.[0] ?? '');
    const socket = await socksConnect(proxy, origin.target);
    socket.write('GET /hello HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n\r\n');
    await once(socket, 'data');
    socket.destroy();
    assert.deepEqual(names, ['a.example']);
  });
});
