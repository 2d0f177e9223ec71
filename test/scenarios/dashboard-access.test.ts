import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFile, stat, writeFile } from 'node:fs/promises';
import { request, type IncomingMessage, type RequestOptions } from 'node:http';
import { connect, createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { SOURCES } from '@weir/watch/dashboard';
import { DashboardProcess } from '../support/browser/dashboard-process.ts';
import { DashboardClient, DashboardStream } from '../support/dashboard/client.ts';
import { contextOf } from '../support/dashboard/context.ts';
import { freedom, proxyOut, socksIn } from '../support/process/config.ts';
import { within } from '../support/wait.ts';
import { runWeir, Weir } from '../support/process/weir.ts';
import { shared } from '../support/shared.ts';

const SECRETS = { api: 'api-secret-7204', trojan: 'trojan-secret-7204' };
const CONFIG = [
  `[api]\nlisten = "127.0.0.1:0"\nsecret = "${SECRETS.api}"\n`,
  socksIn(),
  proxyOut('t', 'trojan', { host: '127.0.0.1', port: 9 }),
  `settings = { password = "${SECRETS.trojan}" }\nstream = { network = "tls" }\n`,
  freedom(),
].join('\n');

/** Of a dashboard of nothing, for the names of all topics and actions. */
const PARTS = SOURCES.map((create) => create(contextOf()));
const TOPICS = PARTS.flatMap(({ topics }) => topics.map(({ name }) => name));
const ACTIONS = PARTS.flatMap(({ actions }) => actions.map(({ name }) => name));

let weir: Weir;
let dashboard: DashboardProcess;

shared(async (use) => {
  weir = use(await Weir.start(CONFIG, { control: true }));
  dashboard = use(await DashboardProcess.start(argumentsFor(weir)));
});

const argumentsFor = ({ folder, controlPath }: Weir): string[] => [
  '--config',
  join(folder, 'weir.toml'),
  '--socket',
  controlPath,
];

interface Answer {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

/** A request as written: `fetch` neither sends another `Host` nor leaves paths as they are. */
async function ask(options: RequestOptions, body?: string): Promise<Answer> {
  const { hostname: host, port } = new URL(dashboard.url);
  const sent = request({ host, port, agent: false, ...options }).end(body);
  const [response] = (await within(once(sent, 'response'), 'a response')) as [IncomingMessage];
  let text = '';
  for await (const chunk of response.setEncoding('utf8') as AsyncIterable<string>) text += chunk;
  return { status: response.statusCode ?? 0, headers: response.headers, body: text };
}

describe('weir dashboard', () => {
  test('serves no host but its own, however it is written', async () => {
    const { port } = new URL(dashboard.url);
    const statusFor = async (host: string): Promise<number> =>
      (await ask({ headers: { Host: host } })).status;
    for (const host of ['127.0.0.1', 'localhost', 'LocalHost', '[::1]']) {
      assert.equal(await statusFor(`${host}:${port}`), 200, host);
    }
    for (const host of [
      'evil.example',
      'EVIL.EXAMPLE',
      'localhost.',
      'localhost.evil.example',
      '127.0.0.1.',
      '127.1',
      '2130706433',
      '0x7f.0.0.1',
      '0.0.0.0',
      '[::]',
      '[::ffff:127.0.0.1]',
      '[::1',
      '10.0.0.1',
      'a@localhost',
    ]) {
      assert.equal(await statusFor(`${host}:${port}`), 403, host);
      assert.equal(await statusFor(host), 403, host);
    }
    assert.equal(await statusFor(`localhost:${Number(port) - 1}`), 403);
  });

  test('serves the paths that it has and no other, by the methods that they have', async () => {
    for (const path of [
      '/../../etc/passwd',
      '/..%2f..%2fetc/passwd',
      '/dashboard/page/../../main.ts',
      '//',
      '/.',
      '/%00',
      '/%2e%2e/main.ts',
      '/main.ts',
      '/session/',
      '/session/x',
      '/session%00',
      '/actions/a/b',
      '/?a=/session/x',
      '/dashboard/server/sessions.ts',
      '/node_modules/',
      'http://evil.example/',
      '*',
    ]) {
      const { status, body } = await ask({ path });
      if (path.startsWith('/?')) assert.equal(status, 200);
      else assert.ok(status === 404 || status === 405, `${path}: ${status} ${body.slice(0, 80)}`);
    }
    const head = await ask({ method: 'HEAD' });
    assert.deepEqual([head.status, head.body], [200, '']);
    assert.ok(Number(head.headers['content-length']) > 0);
    for (const method of ['OPTIONS', 'TRACE', 'PROPFIND']) {
      const { status, headers } = await ask({ method, headers: { 'weir-dashboard': '-' } });
      assert.equal(status, 405, method);
      assert.equal(headers['access-control-allow-origin'], undefined);
    }
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE']) {
      assert.equal((await ask({ method, path: '/session' })).status, 403, method);
    }
  });

  test('a process that has no token keeps nobody out, and reaches nothing', async () => {
    const { hostname, port, host } = new URL(dashboard.url);
    const link = await dashboard.newLink();
    // More than there may be, each of them idle after a response.
    const idle = Array.from({ length: 200 }, () => {
      const socket = connect(Number(port), hostname)
        .on('error', () => undefined)
        .resume();
      socket.write(`GET / HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
      return socket;
    });
    try {
      await Promise.all(idle.map((socket) => once(socket, 'connect')));
      const headers = { 'weir-dashboard': '-', 'content-type': 'application/json' };
      const guess = (body: string): Promise<Answer> =>
        ask({ method: 'POST', path: '/session', headers }, body);
      for (let n = 0; n < 30; n++) {
        assert.equal((await guess(JSON.stringify({ token: `guess ${n}` }))).status, 401);
      }
      assert.equal((await guess(JSON.stringify({ token: 'x'.repeat(300) }))).status, 413);
      assert.equal((await guess('null')).status, 401);
      for (const path of ['/streams', '/actions/close', '/actions/reload']) {
        assert.equal((await ask({ method: 'POST', path, headers }, '{}')).status, 401);
      }
      const client = await DashboardClient.signIn(link);
      assert.equal((await client.ask('GET', '/session')).status, 200);
    } finally {
      for (const socket of idle) socket.destroy();
    }
  });

  test('shows secrets of the API and of outbounds nowhere', async () => {
    const client = await DashboardClient.signIn(await dashboard.newLink());
    const shown: string[] = [client.setCookie, client.key];
    const watches = TOPICS.map((topic, id) => ({ id, topic, parameters: {} }));
    await using stream = await DashboardStream.open(client, watches);
    const seen = new Set<number>();
    while (seen.size < TOPICS.length) {
      const message = await within(stream.next(), 'all topics');
      seen.add(message.watch);
      shown.push(JSON.stringify(message));
    }
    for (const name of [...ACTIONS, 'no-such-action']) {
      shown.push(JSON.stringify(await client.act(name, {})));
    }
    const question = { destination: 'x.example:443' };
    shown.push(JSON.stringify(await client.act('explain', question)));
    // A refused reload, with the lines around the place.
    const file = join(weir.folder, 'weir.toml');
    const good = await readFile(file, 'utf8');
    await writeFile(file, good.replace('network = "tls"', 'network = "none"'));
    shown.push(JSON.stringify(await client.act('reload', {})));
    await writeFile(file, good);
    const { stdout, stderr } = dashboard.child;
    for (const text of [...shown, stdout, stderr]) {
      for (const secret of Object.values(SECRETS)) assert.ok(!text.includes(secret), text);
    }
  });

  test('on a unix socket serves its user, through a port that is forwarded to it', async () => {
    const path = join(weir.folder, 'page.sock');
    await using served = await DashboardProcess.start([...argumentsFor(weir), '--listen', path]);
    assert.equal((await stat(path)).mode & 0o777, 0o600);
    const forward = createServer((client) => {
      const own = connect(path);
      for (const socket of [client, own]) socket.on('error', () => undefined);
      client.pipe(own).pipe(client);
    }).listen(0, '127.0.0.1');
    await once(forward, 'listening');
    const { port } = forward.address() as AddressInfo;
    const token = new URL(await served.newLink()).hash;
    const client = await DashboardClient.signIn(`http://localhost:${port}/${token}`);
    assert.match(client.setCookie, new RegExp(`^weir-dashboard-${port}=`));
    assert.equal((await client.ask('GET', '/session')).status, 200);
    forward.close();
  });

  test('does not listen beyond this host without TLS', async () => {
    for (const listen of ['0.0.0.0:0', '[::]:0', '192.0.2.1:0']) {
      const refused = await runWeir(['dashboard', '--listen', listen]);
      assert.deepEqual([(await refused.exited).code, refused.stdout], [2, '']);
      assert.match(refused.stderr, /--tls-certificate FILE and --tls-key FILE/);
    }
  });
});
