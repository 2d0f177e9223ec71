import assert from 'node:assert/strict';
import { once } from 'node:events';
import { chmod, readFile, readdir, stat, writeFile } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { ApiClient } from '../../packages/server/test/conformance/api-client.ts';
import { brokenLines } from '../support/canaries/broken-lines.ts';
import { DIALED, inbounds, outbounds } from '../support/canaries/config.ts';
import { SECRETS, secretsIn, SHOWN_TO_OPERATORS } from '../support/canaries/secrets.ts';
import { DashboardClient, DashboardStream } from '../support/dashboard/client.ts';
import { parseAddress, portOf, type Address } from '../support/data/address.ts';
import { filesOf } from '../support/diagnose/untar.ts';
import { echoServer } from '../support/peers/servers.ts';
import { socksConnect } from '../support/peers/socks-client.ts';
import type { Child } from '../support/process/child.ts';
import { runWeir, Weir, weirCommand } from '../support/process/weir.ts';
import { roundTrip } from '../support/read.ts';
import { startProvider } from '../support/subscribe/provider.ts';
import { within } from '../support/wait.ts';
import { certificate } from '../support/ways/certificate.ts';

/*
 * Secrets are in no log, error, page, metric, archive of a diagnosis, command line or file that others can read: Weir
 * runs at trace level with a canary of every kind, for honest, rejected and hostile clients, and each output is searched.
 */

const NODES = [
  `[[proxy_server]]\nname = "Osaka"\nprotocol = "trojan"\nserver = "127.0.0.1"\nport = 9\n`,
  `settings = { password = "${SECRETS.trojan}" }\n`,
].join('');

/** Where an operator looks at the file itself. */
const OF_OPERATORS = / show --config |topic config-text/;

const isShownThere = (secret: string): boolean =>
  SHOWN_TO_OPERATORS.has(secret.slice(0, secret.indexOf(':')));

/** Everything that has been seen, by where. */
class Seen {
  readonly #outputs: [where: string, text: string][] = [];

  add(where: string, text: string): void {
    this.#outputs.push([where, text]);
  }

  child(child: Child): void {
    this.add(`the output of ${child.name}`, `${child.stdout}\n${child.stderr}`);
  }

  /** Runs a command of Weir to its end. */
  async run(...args: readonly string[]): Promise<Child> {
    const child = await runWeir(args);
    this.child(child);
    return child;
  }

  hasNoSecret(): void {
    const found = this.#outputs.flatMap(([where, text]) =>
      secretsIn(text, PRIVATE)
        .filter((secret) => !(OF_OPERATORS.test(where) && isShownThere(secret)))
        .map((secret) => `${where}: ${secret}`),
    );
    assert.deepEqual([...new Set(found)], []);
  }
}

/** The private key of the certificate, of which no line is to be seen. */
const PRIVATE: Record<string, string> = {};

describe('secrets', () => {
  test('are in no output of a Weir with every protocol at trace level', async () => {
    const files = certificate();
    const [, line = ''] = (await readFile(files.keyFile, 'utf8')).split('\n');
    PRIVATE['the private key'] = line;
    const config = inbounds(files);
    await using origin = await echoServer();
    await using weir = await Weir.start(config, {
      control: true,
      files: { 'nodes.toml': NODES },
      env: { RUST_LOG: 'trace', WEIR_LOG_ADDRESSES: 'full' },
    });
    const file = join(weir.folder, 'weir.toml');
    for (const name of ['weir.toml', 'nodes.toml']) await chmod(join(weir.folder, name), 0o600);
    const whole = config + outbounds(weir.addresses, files);
    const seen = new Seen();
    const api = new ApiClient(await apiOf(weir), SECRETS.api);
    const ask = async (method: string, path: string, client = api): Promise<number> => {
      const { status, headers, text } = await client.ask(method, path);
      seen.add(`${method} ${path}`, JSON.stringify(headers) + text);
      return status;
    };
    await writeFile(file, whole);
    assert.equal(await ask('POST', '/v1/reload'), 200);

    await using programs = await Programs.start(weir, seen);
    await honestClients(weir, origin.target);
    await rejectedClients(weir, origin.target, seen);
    await hostileClients(weir);

    await using open = await openFlows(weir, origin.target);
    assert.ok(open.sockets.length > 0);
    for (const path of [
      'routes',
      'connections',
      'connections?view=sessions',
      'version',
      'health',
    ]) {
      assert.equal(await ask('GET', `/v1/${path}`), 200, path);
    }
    const wrong = new ApiClient(api.address, SECRETS.wrongApi);
    assert.equal(await ask('GET', `/v1/routes?token=${SECRETS.wrongApi}`, wrong), 401);
    const pick = await api.pick('default', 'Osaka');
    assert.equal(pick.status, 200, pick.text);
    seen.add('a pick', pick.text);

    let refusals = 0;
    for (const broken of brokenLines(
      await readFile(file, 'utf8'),
      (text) => secretsIn(text).length > 0,
    )) {
      await writeFile(file, broken);
      if ((await ask('POST', '/v1/reload')) !== 200) refusals++;
    }
    assert.ok(refusals > 60, `${refusals} refusals`);
    await programs.refused();
    seen.child(await seen.run('--test', '--config', file));
    await writeFile(file, whole);
    assert.equal(await ask('POST', '/v1/reload'), 200);

    await programs.look();
    const at = ['--socket', weir.controlPath];
    for (const args of [
      ['drain', '--wait', '0s', ...at],
      ['status', ...at],
      ['drain', '--undo', ...at],
      ['log', '--no-follow', ...at],
      ['top', '--config', file, ...at],
      ['metrics', '--once', '--config', file, ...at],
      ['show', '--config', file],
      ['explain', '--config', file, 'a.example:443'],
      ['probe', '--all', '--tries=1', '--timeout=2s', '--url=http://127.0.0.1:9/', ...at],
      ['user', 'list', '--config', file],
      ['ctl', 'routes', '--config', file, ...at],
      ['ctl', 'connections', '--config', file, ...at],
    ]) {
      await seen.run(...args);
    }
    await subscriptions(file, seen);
    await diagnosis(weir, seen);

    for (const pid of [weir.pid, ...programs.pids]) {
      for (const name of ['cmdline', 'comm', 'status']) {
        seen.add(`/proc/PID/${name}`, await readFile(`/proc/${pid}/${name}`, 'latin1'));
      }
    }
    await modes(weir.folder);
    assert.match(weir.child.stderr, / DEBUG /);
    // All of the log is there, from its first lines on.
    assert.ok(weir.addresses.has('plain'));
    seen.child(weir.child);
    await programs.end();
    seen.hasNoSecret();
  });
});

async function apiOf(weir: Weir): Promise<Address> {
  const where = await weir.child.until(
    'its API',
    ({ stderr }) => /API listening on (\S+)$/m.exec(stderr)?.[1],
  );
  return parseAddress(where);
}

interface Origin {
  readonly host: string;
  readonly port: number;
}

/** A flow through each outbound, with the right secrets. */
async function honestClients(weir: Weir, target: Origin): Promise<void> {
  for (const tag of DIALED) {
    const socket = await socksConnect(weir.address(`to-${tag}`), target);
    await roundTrip(socket, `${SECRETS.payload} ${tag}`);
    socket.destroy();
  }
  const authority = `${target.host}:${target.port}`;
  const basic = Buffer.from(`ann:${SECRETS.http}`).toString('base64');
  for (const login of [`eve:${SECRETS.link}`, `${SECRETS.link}:`, `eve@${SECRETS.link}`]) {
    await exchange(
      weir.address('http'),
      `GET http://${login}@${authority}/#${SECRETS.link} HTTP/1.1\r\nHost: ${login}@${authority}\r\n` +
        `Proxy-Authorization: Basic ${basic}\r\n\r\n`,
    );
  }
  const login = { user: 'ann', pass: SECRETS.socks };
  (await socksConnect(weir.address('socks'), target, login)).destroy();
  // Its peer never answers.
  await socksConnect(weir.address('to-wireguard'), target).then(
    (socket) => socket.destroy(),
    () => undefined,
  );
}

/** The same with wrong ones. */
async function rejectedClients(weir: Weir, target: Origin, seen: Seen): Promise<void> {
  const flows = DIALED.map(async (tag) => {
    const socket = await socksConnect(weir.address(`wrong-${tag}`), target);
    socket.end(SECRETS.payload);
    await once(socket.resume(), 'close');
  });
  const wrong = { user: 'ann', pass: SECRETS.wrongSocks };
  const outcomes = await Promise.allSettled([
    ...flows,
    socksConnect(weir.address('socks'), target, wrong),
  ]);
  seen.add('the errors of clients', outcomes.map((each) => JSON.stringify(each)).join('\n'));
  const basic = Buffer.from(`ann:${SECRETS.wrongHttp}`).toString('base64');
  const authority = `${target.host}:${target.port}`;
  for (const request of [
    `CONNECT ${authority} HTTP/1.1\r\nHost: ${authority}\r\nProxy-Authorization: Basic ${basic}\r\n\r\n`,
    `GET http://ann:${SECRETS.wrongHttp}@${authority}/?q=${SECRETS.query} HTTP/1.1\r\nHost: ${authority}\r\n` +
      `Cookie: ${SECRETS.cookie}\r\n\r\n`,
  ]) {
    seen.add('an answer of the http inbound', await exchange(weir.address('http'), request));
  }
}

/** What speaks another protocol, or none, to each inbound, with secrets in it. */
async function hostileClients(weir: Weir): Promise<void> {
  const basic = Buffer.from(`ann:${SECRETS.http}`).toString('base64');
  const texts = [
    `GET ${SECRETS.wsPath}?token=${SECRETS.query} HTTP/1.1\r\nHost: ${SECRETS.wrongApi}\r\n\r\n`,
    `GET http://[${SECRETS.query}/ HTTP/1.1\r\nProxy-Authorization: Basic ${basic}\r\n\r\n`,
    `${SECRETS.wrongTrojan}\r\n${SECRETS.http}\r\n\r\n`,
    `CONNECT ${SECRETS.query} HTTP/9\r\nProxy-Authorization: Bearer ${SECRETS.http}\r\n\r\n`,
    `\u0005\u0001\u0002\u0001\u0003ann${SECRETS.wrongSocks}`,
  ];
  const addresses = [...weir.addresses]
    .filter(([tag]) => tag !== 'hysteria2' && !/^(?:to|wrong)-/.test(tag))
    .map(([, address]) => address);
  await Promise.all(
    addresses.flatMap((address) => texts.map(async (text) => exchange(address, text))),
  );
}

/** Sends a text and ends; what came until the connection has closed, or for a second. */
async function exchange(address: Address, text: string): Promise<string> {
  const socket = connect({ host: '127.0.0.1', port: portOf(address) });
  let received = '';
  socket.setEncoding('latin1').on('data', (part: string) => (received += part));
  socket.on('error', () => undefined);
  socket.end(text);
  // A probe is kept for a moment: what it shows has come by the end of its own.
  socket.setTimeout(1000, () => socket.destroy());
  await once(socket, 'close');
  return received;
}

async function openFlows(
  weir: Weir,
  target: Origin,
): Promise<AsyncDisposable & { readonly sockets: readonly Socket[] }> {
  const sockets = await Promise.all(
    DIALED.map((tag) => socksConnect(weir.address(`to-${tag}`), target)),
  );
  return {
    sockets,
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy();
    },
  };
}

/** The programs that stay: the dashboard, the metrics, the adapter, the followers of log and events. */
class Programs implements AsyncDisposable {
  readonly #children: readonly Child[];
  readonly #seen: Seen;
  readonly #client: DashboardClient;

  private constructor(children: readonly Child[], seen: Seen, client: DashboardClient) {
    this.#children = children;
    this.#seen = seen;
    this.#client = client;
  }

  static async start(weir: Weir, seen: Seen): Promise<Programs> {
    const place = ['--config', join(weir.folder, 'weir.toml'), '--socket', weir.controlPath];
    const dashboard = weirCommand(['dashboard', ...place]);
    const clash = weirCommand(['clash-api', ...place, '--listen', '127.0.0.1:0']);
    const links = weirCommand([
      'links',
      'serve',
      ...place,
      '--host',
      '127.0.0.1',
      '--listen',
      '127.0.0.1:0',
    ]);
    await askForLinks(links, weir.folder);
    const more = ['log', 'ctl events', 'ctl traffic'].map((command) =>
      weirCommand([...command.split(' '), '--socket', weir.controlPath]),
    );
    const link = await dashboard.until('its link', ({ stdout }) => /^http\S+$/m.exec(stdout)?.[0]);
    const [, url = '', secret = ''] = await clash.until(
      'its address',
      ({ stdout }) => /^controller on (\S+)\nsecret: (\S+)$/m.exec(stdout) ?? undefined,
    );
    for (const path of [
      'configs',
      'proxies',
      'rules',
      'connections',
      'providers/proxies',
      'version',
    ]) {
      const response = await fetch(`${url}/${path}`, {
        headers: { authorization: `Bearer ${secret}` },
      });
      seen.add(`clash-api /${path}`, await response.text());
    }
    const wrong = await fetch(`${url}/proxies?token=${SECRETS.wrongApi}`);
    seen.add('clash-api with a wrong secret', await wrong.text());
    const client = await DashboardClient.signIn(link);
    return new Programs([dashboard, clash, links, ...more], seen, client);
  }

  get pids(): number[] {
    return this.#children.filter(({ ended }) => ended === undefined).map(({ pid }) => pid);
  }

  /** What the page has of a file that was refused. */
  async refused(): Promise<void> {
    await this.#watch('config', (value) => JSON.stringify(value).includes('invalid'));
    for (const action of ['config-difference', 'config-reload']) {
      const { status, body } = await this.#client.act(action, {});
      this.#seen.add(`the action ${action}`, `${status} ${JSON.stringify(body)}`);
    }
  }

  /** What every page has of one that runs. */
  async look(): Promise<void> {
    for (const topic of [
      'config',
      'frame',
      'now',
      'rates',
      'routes',
      'users',
      'log',
      'connections',
    ]) {
      await this.#watch(topic);
    }
    await this.#watch('rules', (value) => JSON.stringify(value).includes('weir.toml'));
    await this.#watch('nodes', (value) => JSON.stringify(value).includes('Osaka'));
    await this.#watch('config-text', (value) => JSON.stringify(value).includes('[[inbound]]'));
    for (const [action, parameters] of [
      ['explain', { destination: 'a.example:443' }],
      ['user-remove-preview', { inbound: 'vmess', user: '#1' }],
      ['probe-preview', { outbounds: ['to-trojan'] }],
      ['subscription-compare', { name: 'home' }],
    ] as const) {
      const { status, body } = await this.#client.act(action, parameters);
      this.#seen.add(`the action ${action}`, `${status} ${JSON.stringify(body)}`);
    }
  }

  async #watch(topic: string, isWanted: (value: unknown) => boolean = () => true): Promise<void> {
    const parameters = { search: '', first: 0, count: 50, dead: false };
    await using stream = await DashboardStream.open(this.#client, [{ id: 1, topic, parameters }]);
    const value = await within(stream.until(1, isWanted), `the topic ${topic}`);
    this.#seen.add(`the topic ${topic}`, JSON.stringify(value));
  }

  async end(): Promise<void> {
    for (const child of this.#children) {
      await child.terminate();
      this.#seen.child(child);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const child of this.#children) await child[Symbol.asyncDispose]();
  }
}

/** Asks for every link, and with tokens that are none. */
async function askForLinks(links: Child, folder: string): Promise<void> {
  const url = await links.until(
    'its address',
    ({ stdout }) => /^links of \d+ users? on (\S+), below /m.exec(stdout)?.[1],
  );
  const file = JSON.parse(await readFile(join(folder, 'weir.links.json'), 'utf8')) as {
    readonly links: readonly { readonly user: string; readonly token: string }[];
  };
  assert.ok(file.links.length > 0);
  // A source may send thirty requests at once.
  for (const { user, token } of file.links.slice(0, 5)) {
    PRIVATE[`the link of ${user}`] = token;
    for (const query of ['', '?format=clash', '?format=page', '?format=none']) {
      await (await fetch(`${url}/${token}${query}`)).text();
    }
    assert.equal((await fetch(`${url}/${token}x?token=${token}`)).status, 404);
  }
}

/** A source whose URL has a token and a login: when it works, and when it fails in several ways. */
async function subscriptions(file: string, seen: Seen): Promise<void> {
  const list = `trojan://${SECRETS.trojan}@a.example:443#A\nvless://${SECRETS.vless}@b.example:443#B\n`;
  await using provider = await startProvider((response) => void response.end(list));
  const { host } = new URL(provider.url);
  const url = `http://${SECRETS.subscriptionUser}:x@${host}/sub/${SECRETS.subscription}?token=${SECRETS.subscription}`;
  const config = ['--config', file];
  await using added = weirCommand(['subscribe', 'add', 'home', '-', ...config, '--verbose']);
  added.stdin.end(`${url}\n`);
  assert.equal((await within(added.exited, 'the source')).code, 0, added.stderr);
  seen.child(added);
  await seen.run('subscribe', 'list', ...config);
  await seen.run('subscribe', 'list', '--json', ...config);
  for (const answer of [404, 500, 302]) {
    provider.answer = (response, { url: path = '' }) =>
      void response.writeHead(answer, { location: `ftp://${host}${path}` }).end(list);
    await seen.run('subscribe', 'update', '--verbose', ...config);
  }
  provider.answer = (response) =>
    void response.end(`nonsense ${SECRETS.payload} trojan://${SECRETS.trojan}@`);
  await seen.run('subscribe', 'update', ...config);
}

async function diagnosis(weir: Weir, seen: Seen): Promise<void> {
  const path = join(weir.folder, 'report.tar.gz');
  const args = ['diagnose', '--socket', weir.controlPath, '--yes', '--seconds=1', '--output', path];
  const child = await seen.run(...args);
  assert.equal(child.ended?.code, 0, child.stderr);
  for (const [name, bytes] of filesOf(gunzipSync(await readFile(path)))) {
    seen.add(`${name} of the archive`, String(bytes));
  }
}

/** What Weir has written, and what it was given, is for its owner alone. */
async function modes(folder: string): Promise<void> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  assert.ok(entries.length > 3);
  for (const entry of entries) {
    const path = join(entry.parentPath, entry.name);
    const { mode } = await stat(path);
    if (entry.isFile() && secretsIn(await readFile(path, 'latin1'), PRIVATE).length > 0) {
      assert.equal(mode & 0o077, 0, `${entry.name} has secrets and the mode ${mode.toString(8)}`);
    }
    if (entry.isSocket()) assert.equal(mode & 0o007, 0, `${entry.name} is open to everyone`);
  }
}
