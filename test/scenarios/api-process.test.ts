import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { describe, test } from 'node:test';
import { SNIFF_TIMEOUT_MS } from '../../packages/proxy/src/engine/sniff.ts';
import { ctl } from '../../packages/weir/src/cli/control/ctl.ts';
import { ApiClient, type Reply } from '../../packages/server/test/conformance/api-client.ts';
import { type Address, disposable, parseAddress } from '../support/data/address.ts';
import { freedom, rule, socksIn } from '../support/process/config.ts';
import { errorOf, etagOf } from '../support/process/control.ts';
import { ask } from '../support/peers/http-client.ts';
import { readAll, roundTrip } from '../support/read.ts';
import { echoServer, type Origin, udpEcho } from '../support/peers/servers.ts';
import { socksConnect } from '../support/peers/socks-client.ts';
import { UdpAssociation } from '../support/peers/socks-udp.ts';
import { eventually } from '../support/wait.ts';
import { runWeir, scratch, Weir, type WeirOptions } from '../support/process/weir.ts';

/*
 * The API of the real process, every endpoint from end to end, on both carriers. The conformance
 * suite covers the HTTP of each endpoint.
 */

/** Sniffs until the first bytes of a client have come, however late this process sends them. */
const PATIENT = {
  nodeArgs: ['--import', join(import.meta.dirname, '../support/process/no-long-timers.ts')],
  env: { WEIR_TEST_LONG_TIMERS_MS: String(SNIFF_TIMEOUT_MS) },
};

const SECRET = 'a secret that must not show';

const ACCOUNTS =
  '[inbound.settings]\nauth = "password"\naccounts = [{ user = "ann", pass = "pw" }]\n';
const ANN = { user: 'ann', pass: 'pw' };

const NODES = `[[proxy_server]]
name = "Node 1"
protocol = "socks"
server = "127.0.0.1"
port = 1
[[route_group]]
name = "Video Streaming"
[[route_group.rule]]
domain_suffix = ["video.example"]
[[route_group]]
name = "News"
inherit = { group = "Video Streaming" }
[[route_group.rule]]
domain_suffix = ["news.example"]
`;

interface Served extends AsyncDisposable {
  readonly weir: Weir;
  readonly api: ApiClient;
  readonly apiAddress: Address;
  readonly folder: string;
  readonly config: string;
  readonly text: () => Promise<string>;
  readonly write: (text: string) => Promise<void>;
  readonly etag: () => Promise<string>;
  /** Where the inbound `quiet` listens. */
  readonly unixInbound: Address;
  /** Where the inbound `socks` listens. */
  readonly socks: Address;
}

/** A process with everything that the API can show. */
async function serve(carrier: 'tcp' | 'unix', options: WeirOptions = {}): Promise<Served> {
  const folder = await mkdtemp(join(tmpdir(), 'weir-test-'));
  await writeFile(join(folder, 'nodes.toml'), NODES);
  const listen = carrier === 'tcp' ? '127.0.0.1:0' : join(folder, 'api.sock');
  const unixInbound = { path: join(folder, 'in.sock') };
  const text =
    `[log]\nlevel = "trace"\n[api]\nlisten = ${JSON.stringify(listen)}\nsecret = "${SECRET}"\n\n` +
    socksIn('socks', ACCOUNTS) +
    `[[inbound]]\ntag = "quiet"\nprotocol = "socks"\nlisten = "${unixInbound.path}"\n[inbound.settings]\nudp = false\n\n` +
    freedom('direct') +
    freedom('other') +
    rule('direct', 'domain_suffix = ["sniffed.example"]') +
    rule('other', 'inbound_tag = ["quiet"]') +
    `[subscribe]\npath = ${JSON.stringify(join(folder, 'nodes.toml'))}\n`;
  const weir = await Weir.start(text, options);
  const where = await apiOf(weir);
  const config = join(weir.folder, 'weir.toml');
  return {
    weir,
    folder,
    config,
    unixInbound,
    socks: weir.address('socks'),
    apiAddress: where,
    api: new ApiClient(where, SECRET),
    text: () => readFile(config, 'utf8'),
    write: (text) => writeFile(config, text),
    etag: async () => etagOf(await readFile(config)),
    [Symbol.asyncDispose]: async () => {
      await weir[Symbol.asyncDispose]();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Where the API of a process listens. */
async function apiOf(weir: Weir): Promise<Address> {
  const text = await weir.child.until(
    'its API',
    ({ stderr }) => / INFO svc_app: API listening on (\S+)$/m.exec(stderr)?.[1],
  );
  return parseAddress(text);
}

interface Connections {
  readonly sessions: readonly Record<string, unknown>[];
  readonly flows: readonly (Record<string, unknown> & { readonly id: number })[];
}

const connections = async ({ api }: Served): Promise<Connections> =>
  (await api.json('GET', '/v1/connections')) as Connections;

const json = ({ text }: Reply): unknown => JSON.parse(text);

const REUSED = [
  'dns',
  'outbound direct@v1',
  'outbound other@v1',
  'outbound Node 1@v1',
  'user set socks',
  'inbound socks',
  'inbound quiet',
];
const QUIET_REPORT = { swapped: [], drained: [], rebound: [], restarted: [], removed: [] };

for (const carrier of ['tcp', 'unix'] as const) {
  describe(`the API of a process over ${carrier}`, { concurrency: 2 }, () => {
    test('reports its health and version, and responds 401 without the secret', async () => {
      await using it = await serve(carrier);
      const { api } = it;
      assert.deepEqual(await api.json('GET', '/v1/health'), { status: 'ok' });
      assert.deepEqual(await api.json('GET', '/v1/version'), { version: '2.1.1' });
      const unauthenticated = new ApiClient(it.apiAddress);
      for (const path of ['/v1/health', '/nowhere']) {
        const refused = await unauthenticated.get(path);
        assert.deepEqual(
          [refused.status, errorOf(refused), refused.headers['www-authenticate']],
          [401, 'a valid bearer token is required', 'Bearer'],
        );
      }
      assert.equal((await api.get('/nowhere')).status, 404);
      assert.equal((await api.ask('POST', '/v1/version')).status, 405);
    });

    test('shows the routes of the files, writes picks into them and applies them', async () => {
      await using it = await serve(carrier);
      const { api } = it;
      const before = await it.text();
      const routes = await api.get('/v1/routes');
      assert.equal(routes.headers['etag'], etagOf(before));
      assert.deepEqual(json(routes), {
        default: { pick: null, target: 'direct' },
        groups: [
          { name: 'Video Streaming', pick: null, inherit: 'default', target: 'direct' },
          { name: 'News', pick: null, inherit: { group: 'Video Streaming' }, target: 'direct' },
        ],
        targets: [
          { name: 'direct', kind: 'outbound' },
          { name: 'other', kind: 'outbound' },
          { name: 'Node 1', kind: 'node' },
          { name: 'blackhole', kind: 'blackhole' },
        ],
      });

      const picked = await api.pick('Video Streaming', 'other');
      const withPick = `${before}\n[subscribe.routes]\n"Video Streaming" = "other"\n`;
      assert.equal(await it.text(), withPick);
      assert.deepEqual([picked.status, picked.headers['etag']], [200, etagOf(withPick)]);
      const switched = { status: 'applied', built: ['route'], ...QUIET_REPORT, reused: REUSED };
      assert.deepEqual(json(picked), switched);
      assert.deepEqual(
        Object.keys(json(picked) as object),
        'status built swapped drained rebound restarted removed reused'.split(' '),
      );
      assert.deepEqual(await api.json('POST', '/v1/reload'), { status: 'unchanged' });

      const main = await api.pick('default', 'Node 1', { 'if-match': etagOf(withPick) });
      assert.deepEqual(json(main), switched);
      assert.equal(await it.text(), `${withPick}default = "Node 1"\n`);
      const again = await api.pick('default', 'Node 1', { 'if-match': '*' });
      assert.deepEqual([again.status, json(again)], [200, { status: 'unchanged' }]);

      const built = await api.pick('News', 'blackhole');
      assert.deepEqual(json(built), {
        status: 'applied',
        built: ['outbound blackhole@v1', 'route'],
        ...QUIET_REPORT,
        reused: REUSED,
      });
      const gone = await api.pick('News', 'direct');
      assert.deepEqual(json(gone), { ...switched, drained: ['blackhole@v1'] });
    });

    test('refuses a pick with the status of its error, and leaves the file', async () => {
      await using it = await serve(carrier);
      const { api } = it;
      const before = await it.text();
      const etag = etagOf(before);
      const unknown = await api.pick('Absent', 'direct');
      assert.deepEqual([unknown.status, errorOf(unknown)], [404, 'no route group named "Absent"']);
      const nowhere = await api.pick('News', 'nowhere');
      assert.deepEqual(
        [nowhere.status, errorOf(nowhere)],
        [422, 'no node, outbound or balancer is named "nowhere"; the route view lists them'],
      );
      const stale = await api.pick('News', 'direct', { 'if-match': '"old"' });
      assert.deepEqual(
        [stale.status, errorOf(stale), stale.headers['etag']],
        [409, `the config file has changed since it was read; its ETag is now ${etag}`, etag],
      );
      const list = await api.pick('News', 'direct', { 'if-match': `${etag}, "x"` });
      assert.equal(list.status, 400);
      assert.match(errorOf(list), /^If-Match takes/);
      assert.equal(await it.text(), before);

      const nodes = join(it.folder, 'nodes.toml');
      await rm(nodes);
      const reason = `subscribe file ${nodes}: no such file or directory`;
      for (const reply of [await api.get('/v1/routes'), await api.pick('News', 'direct')]) {
        assert.deepEqual([reply.status, errorOf(reply)], [500, `${it.config}: ${reason}`]);
      }
      const reload = await api.ask('POST', '/v1/reload');
      assert.deepEqual(
        [reload.status, errorOf(reload)],
        [500, `cannot read ${it.config}: ${reason}`],
      );
      await writeFile(nodes, NODES);
      assert.deepEqual(await api.json('POST', '/v1/reload'), { status: 'unchanged' });
    });

    test('keeps a pick whose reload fails, returns its tag, and keeps the running configuration', async () => {
      await using it = await serve(carrier);
      await using echo = await echoServer();
      const { api } = it;
      // An inbound whose port is taken: a check finds nothing, the reload does.
      const taken = `\n${socksIn('late').replace('port = 0', `port = ${echo.port}`)}`;
      const text = `${await it.text()}${taken}`;
      await it.write(text);
      const failed = await api.pick('default', 'other');
      assert.equal(failed.status, 500);
      assert.match(errorOf(failed), /^inbound late: .*address already in use$/);
      assert.match(await it.text(), /^default = "other"$/m);
      assert.equal(failed.headers['etag'], await it.etag());
      const again = await api.pick('default', 'other');
      assert.equal(again.status, 422);
      assert.match(errorOf(again), /in use \(the files have not changed since this was found\)$/);
      assert.equal(again.headers['etag'], await it.etag());
      using socket = disposable(await socksConnect(it.socks, echo.target, ANN));
      await roundTrip(socket, 'still here');
      assert.equal((await connections(it)).flows[0]?.['outbound'], 'direct');
    });

    test('lets one of two clients with one tag through, and the other retry with the new one', async () => {
      await using it = await serve(carrier);
      const etag = await it.etag();
      const replies = await Promise.all(
        ['direct', 'other'].map((target) => it.api.pick('News', target, { 'if-match': etag })),
      );
      const [won, lost] = replies.toSorted((a, b) => a.status - b.status);
      assert.deepEqual([won?.status, lost?.status], [200, 409]);
      assert.equal(lost?.headers['etag'], await it.etag());
      assert.equal(won?.headers['etag'], await it.etag());
      const retried = await it.api.pick('News', 'Node 1', {
        'if-match': lost?.headers['etag'] ?? '',
      });
      assert.equal(retried.status, 200);
      assert.match(await it.text(), /^News = "Node 1"$/m);
    });

    test('survives clients that disconnect in the middle of a pick', async () => {
      await using it = await serve(carrier);
      const before = await it.text();
      const body = '{"target":"other"}';
      const head = `PUT /v1/routes/News HTTP/1.1\r\nHost: localhost\r\nAuthorization: bearer ${SECRET}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`;
      const half = await it.api.connect();
      half.write(head + body.slice(0, 5), () => half.destroy());
      assert.equal((await it.api.get('/v1/health')).status, 200);
      assert.equal(await it.text(), before);
      for (let count = 0; count < 10; count++) {
        const leaving = await it.api.connect();
        leaving.write(head + body, () => leaving.destroy());
        // It is written in whole or not at all, and the next edit has its turn.
        const { status } = await it.api.pick('Video Streaming', count % 2 ? 'direct' : 'other');
        assert.equal(status, 200);
        assert.match(
          await it.text(),
          /\n\[subscribe\.routes\]\n(News = "other"\n)?"Video Streaming" = "\w+"\n(News = "other"\n)?$/,
        );
      }
    });

    test('shows flows and sessions exactly, and closes those that a request selects', async () => {
      await using it = await serve(carrier, PATIENT);
      await using echo = await echoServer();
      const { api } = it;
      assert.deepEqual(await connections(it), { sessions: [], flows: [] });
      const started = Date.now();

      using named = disposable(await socksConnect(it.socks, echo.target, ANN));
      const request = 'GET / HTTP/1.1\r\nHost: www.sniffed.example\r\n\r\n';
      await roundTrip(named, request);
      using quiet = disposable(await socksConnect(it.unixInbound, echo.target));
      await roundTrip(quiet, 'quietly');
      await api.pick('default', 'other');
      using routed = disposable(
        await socksConnect(it.socks, { host: 'localhost', port: echo.port }, ANN),
      );
      await roundTrip(routed, 'x');
      const ended = Date.now();

      const { sessions, flows } = await connections(it);
      const flow = {
        session: 1,
        network: 'tcp',
        inbound: 'socks',
        user: 'ann',
        source: '127.0.0.1',
        host: '127.0.0.1',
        port: echo.port,
        sniffed: null,
        outbound: 'other',
        outbound_version: 1,
        rule: null,
        plane_epoch: 1,
      };
      assert.deepEqual(flows.map(timeless), [
        {
          id: 1,
          ...flow,
          sniffed: 'www.sniffed.example',
          outbound: 'direct',
          rule: 0,
          up: request.length,
          down: request.length,
        },
        {
          id: 2,
          ...flow,
          session: 2,
          inbound: 'quiet',
          user: null,
          source: null,
          rule: 1,
          up: 7,
          down: 7,
        },
        { id: 3, ...flow, session: 3, host: 'localhost', plane_epoch: 2, up: 1, down: 1 },
      ]);
      // The handshakes: 3 + 8 + 10 bytes of an IPv4 request with RFC 1929, 2 + 2 + 10 of replies.
      const wire = [3 + 8 + 10 + request.length, 2 + 2 + 10 + request.length];
      assert.deepEqual(sessions.map(timeless), [
        { id: 1, inbound: 'socks', source: '127.0.0.1', user: 'ann', up: wire[0], down: wire[1] },
        { id: 2, inbound: 'quiet', source: null, user: null, up: 3 + 10 + 7, down: 2 + 10 + 7 },
        {
          id: 3,
          inbound: 'socks',
          source: '127.0.0.1',
          user: 'ann',
          up: 3 + 8 + 16 + 1,
          down: 2 + 2 + 10 + 1,
        },
      ]);
      for (const { started_at: at } of [...sessions, ...flows]) {
        assert.ok(
          Number.isInteger(at) && started - 1 <= Number(at) && Number(at) <= ended,
          String(at),
        );
      }

      assert.equal((await api.ask('DELETE', '/v1/connections/1')).status, 204);
      await readAll(named);
      await eventually(
        'the flow to be gone',
        async () => (await connections(it)).flows.length === 2,
      );
      const twice = await api.ask('DELETE', '/v1/connections/1');
      assert.deepEqual([twice.status, errorOf(twice)], [404, 'no live flow 1']);
      const word = await api.ask('DELETE', '/v1/connections/one');
      assert.deepEqual(
        [word.status, word.text],
        [400, 'Invalid URL: Cannot parse `one` to a `u64`'],
      );
      const close = (query: string): Promise<unknown> =>
        api.json('DELETE', `/v1/connections${query}`);
      for (const query of [
        '?user=bob',
        '?outbound=',
        '?session=99',
        '?inbound=socks&outbound=direct',
      ]) {
        assert.deepEqual(await close(query), { closed: 0 }, query);
      }
      assert.deepEqual(await close('?inbound=socks&outbound=other&user=ann&session=3'), {
        closed: 1,
      });
      await readAll(routed);
      await roundTrip(quiet, 'untouched');
      assert.deepEqual(await close(''), { closed: 1 });
      await readAll(quiet);
    });

    test('kills a sub-link of UDP and leaves its association, which opens a new one', async () => {
      await using it = await serve(carrier);
      await using first = await udpEcho();
      await using second = await udpEcho();
      using association = await UdpAssociation.open(it.socks, ANN);
      const send = async (to: Origin, text: string): Promise<void> => {
        association.send(to.target, text);
        assert.equal(String((await association.receive()).data), text);
      };
      await send(first, 'one');
      await send(second, 'more');
      const [flow, ...others] = (await connections(it)).flows;
      assert.deepEqual(others, []);
      assert.ok(flow);
      const { started_at: _, ...view } = flow;
      const expected = {
        session: 1,
        network: 'udp',
        inbound: 'socks',
        user: 'ann',
        source: '127.0.0.1',
        host: '127.0.0.1',
        port: first.port,
        sniffed: null,
        outbound: 'direct',
        outbound_version: 1,
        rule: null,
        plane_epoch: 1,
      };
      assert.deepEqual(view, { id: 1, ...expected, up: 7, down: 7 });

      assert.equal((await it.api.ask('DELETE', '/v1/connections/1')).status, 204);
      await eventually(
        'the sub-link to be gone',
        async () => (await connections(it)).flows.length === 0,
      );
      assert.deepEqual(
        (await connections(it)).sessions.map(({ id }) => id),
        [1],
      );
      await send(second, 'again');
      const [next] = (await connections(it)).flows;
      assert.deepEqual(next && timeless(next), {
        id: 2,
        ...expected,
        port: second.port,
        up: 5,
        down: 5,
      });
      assert.equal(association.control.destroyed, false);
    });

    test('streams flows as they open and close, and traffic every second', async () => {
      await using it = await serve(carrier);
      await using echo = await echoServer();
      using events = await it.api.events('/v1/connections/events');
      using traffic = await it.api.events('/v1/traffic');
      assert.deepEqual(
        [events.contentType, events.message.headers['cache-control']],
        ['text/event-stream', 'no-cache'],
      );
      const socket = await socksConnect(it.socks, echo.target, ANN);
      const opened = await events.next();
      await roundTrip(socket, 'payload');
      const [live] = (await connections(it)).flows;
      assert.deepEqual(opened, { name: 'opened', data: { ...live, up: 0, down: 0 } });
      socket.end();
      await readAll(socket);
      assert.deepEqual(await events.next(), { name: 'closed', data: { ...live, up: 7, down: 7 } });

      let tick: Record<string, unknown> = {};
      do {
        const event = await traffic.next();
        assert.equal(event?.name, 'traffic');
        tick = event.data as Record<string, unknown>;
      } while (tick['up'] !== 7 || tick['flows'] !== 0);
      assert.deepEqual(
        Object.keys(tick),
        'tick interval_ms up down up_rate down_rate flows inbounds outbounds'.split(' '),
      );
      const { up, down, up_rate, down_rate, flows } = tick;
      const figures = { up, down, up_rate, down_rate, flows };
      assert.deepEqual([up, down, flows], [7, 7, 0]);
      assert.deepEqual(tick['inbounds'], { socks: figures });
      assert.deepEqual(tick['outbounds'], { direct: figures });
      const next = (await traffic.next())?.data as Record<string, unknown>;
      assert.ok(Number(next['tick']) > Number(tick['tick']));
    });

    test('serves weir ctl, with the secret from a file', async () => {
      await using it = await serve(carrier);
      await using echo = await echoServer();
      const secretFile = join(it.folder, 'secret');
      await writeFile(secretFile, `${SECRET}\n`);
      const where = 'path' in it.apiAddress ? it.apiAddress.path : it.api.host;
      const run = async (...args: string[]): Promise<Ran> => {
        const [stdout, stderr] = [new Text(), new Text()];
        const status = await ctl(['--api', where, ...args], { stdout, stderr, env: {} });
        return { status, out: stdout.text, err: stderr.text };
      };
      const asked = (...args: string[]): Promise<Ran> => run('--secret-file', secretFile, ...args);
      using socket = disposable(await socksConnect(it.socks, echo.target, ANN));
      await roundTrip(socket, 'x');
      const command = await runWeir([
        'ctl',
        '--api',
        where,
        '--secret-file',
        secretFile,
        'version',
      ]);
      assert.equal(command.stdout, '{"version":"2.1.1"}\n');
      const view = await it.api.get('/v1/routes');
      assert.deepEqual(JSON.parse((await asked('routes', '--json')).out), json(view));
      const live = await connections(it);
      assert.deepEqual(JSON.parse((await asked('connections')).out), live.flows[0]);
      assert.deepEqual(
        JSON.parse((await asked('connections', '--sessions')).out),
        live.sessions[0],
      );
      assert.deepEqual(await asked('pick', 'News', 'nowhere'), {
        status: 1,
        out: '',
        err: 'weir ctl: no node, outbound or balancer is named "nowhere"; the route view lists them\n',
      });
      assert.match(
        (await run('version')).err,
        /^weir ctl: a valid bearer token is required\nhint: /,
      );
      const picked = JSON.parse((await asked('pick', 'News', 'other')).out) as { status: string };
      assert.equal(picked.status, 'applied');
      assert.equal((await asked('reload')).out, '{"status":"unchanged"}\n');
      assert.equal((await asked('close', '--user', 'ann')).out, '{"closed":1}\n');
      await readAll(socket);
    });

    test('writes its secret to no log, whatever the request', async () => {
      await using it = await serve(carrier);
      const wrong = new ApiClient(it.apiAddress, `${SECRET}!`);
      await wrong.get('/v1/health');
      await it.api.get(`/${encodeURIComponent(SECRET)}`);
      await it.api.raw(`GARBAGE ${SECRET}\r\n\r\n`);
      await it.write(`${await it.text()}[api`);
      assert.equal((await it.api.ask('POST', '/v1/reload')).status, 422);
      await it.write(
        (await it.text()).replace('[api]\n', '[api]\nsecre = 1\n').replace(/\[api$/, ''),
      );
      const odd = await it.api.ask('POST', '/v1/reload');
      assert.equal(odd.status, 422);
      assert.deepEqual(await it.weir.stop(), { code: 0, signal: null });
      assert.ok(!it.weir.child.stderr.includes(SECRET), it.weir.child.stderr);
      for (const text of [errorOf(odd)]) assert.ok(!text.includes(SECRET), text);
    });
  });
}

interface Ran {
  readonly status: number;
  readonly out: string;
  readonly err: string;
}

/** A command's output. */
class Text extends Writable {
  text = '';

  override _write(chunk: Buffer, _: BufferEncoding, done: () => void): void {
    this.text += chunk.toString();
    done();
  }
}

/** A view without the field that no test can foretell. */
function timeless(view: Record<string, unknown>): Record<string, unknown> {
  const { started_at: _, ...rest } = view;
  return rest;
}

test('a request over TCP with another host name is 421 without a secret', async () => {
  await using weir = await Weir.start(`[api]\nlisten = "127.0.0.1:0"\n${socksIn()}${freedom()}`);
  const api = new ApiClient(await apiOf(weir));
  const where = api.host;
  const asks = async (headers: string): Promise<number> =>
    (await ask(await api.connect(), `GET /v1/health HTTP/1.1\r\n${headers}\r\n\r\n`)).status;
  assert.equal(await asks(`Host: ${where}`), 200);
  assert.equal(await asks('Host: rebound.example'), 421);
  assert.equal(await asks(`Host: ${where}\r\nOrigin: http://page.example`), 403);
});

describe('a request of a page of another site, which has no Origin', () => {
  const PATHS = ['/v1/routes', '/v1/connections', '/v1/connections/events', '/v1/traffic', '/v1/x'];
  const from = (site: string) => ({ headers: { 'Sec-Fetch-Site': site } });

  test('is 403 over TCP without a secret, streams of events included', async () => {
    await using weir = await Weir.start(`[api]\nlisten = "127.0.0.1:0"\n${socksIn()}${freedom()}`);
    const api = new ApiClient(await apiOf(weir));
    for (const path of PATHS) {
      for (const site of ['cross-site', 'same-site', 'none, cross-site', 'unheard-of', '']) {
        const reply = await api.get(path, from(site));
        assert.deepEqual([path, site, reply.status], [path, site, 403]);
        assert.match(errorOf(reply), /^this API does not answer to web pages/);
      }
    }
    const followed = { 'Sec-Fetch-Mode': 'navigate', 'Sec-Fetch-Dest': 'document' };
    const headers = { ...from('cross-site').headers, ...followed };
    assert.equal((await api.get('/v1/traffic', { headers })).status, 403);
    const close = await api.ask('DELETE', '/v1/connections', from('cross-site'));
    assert.equal(close.status, 403);
    assert.equal((await api.ask('POST', '/v1/reload', from('same-site'))).status, 403);
    for (const site of ['none', 'same-origin']) {
      assert.equal((await api.get('/v1/routes', from(site))).status, 200);
    }
  });

  test('is served with the secret, which a page does not have, and through a unix socket', async () => {
    await using secret = await Weir.start(
      `[api]\nlisten = "127.0.0.1:0"\nsecret = "${SECRET}"\n${socksIn()}${freedom()}`,
    );
    const address = await apiOf(secret);
    const health = (api: ApiClient): Promise<Reply> => api.get('/v1/health', from('cross-site'));
    assert.equal((await health(new ApiClient(address))).status, 401);
    assert.equal((await health(new ApiClient(address, SECRET))).status, 200);
    await using folder = await scratch();
    const path = join(folder.path, 'api.sock');
    await using unix = await Weir.start(`[api]\nlisten = "${path}"\n${socksIn()}${freedom()}`);
    assert.equal((await health(new ApiClient(await apiOf(unix)))).status, 200);
  });
});
