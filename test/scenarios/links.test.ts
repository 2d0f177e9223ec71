import assert from 'node:assert/strict';
import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { hostPort } from '../support/data/address.ts';
import { webServer } from '../support/peers/servers.ts';
import { freePorts } from '../support/ports.ts';
import type { Child } from '../support/process/child.ts';
import { freedom, socksIn } from '../support/process/config.ts';
import { runWeir, scratch, Weir, weirCommand, type WeirOptions } from '../support/process/weir.ts';
import { curl } from '../support/programs/curl.ts';
import { eventually } from '../support/wait.ts';

const ANN = 'b831381d-6324-4d53-ad4f-8cda48b30811';
const BOB = '7d9f1b5e-0f60-4d0b-9a86-0b1f2c9f6a11';

/** The forms that `weir import` reads. */
const FORMATS = ['base64', 'links', 'clash', 'sing-box', 'xray'];

/** The inbounds of a server, each of which ann has. */
const SERVERS = ['vless', 'vmess', 'socks'];

/** A server of two users, with ports that links can name. */
async function serverText(): Promise<string> {
  const [vless, vmess, socks] = await freePorts(3);
  return `[[inbound]]
tag = "vless"
protocol = "vless"
port = ${vless}
settings = { users = [
  { id = "${ANN}" }, # name: ann
  { id = "${BOB}" }, # name: bob
] }

[[inbound]]
tag = "vmess"
protocol = "vmess"
port = ${vmess}
settings = { users = [
  { id = "${ANN}" }, # name: ann
] }

[[inbound]]
tag = "socks"
protocol = "socks"
port = ${socks}
settings = { auth = "password", accounts = [{ user = "ann", pass = "secret of ann" }] }

${freedom()}`;
}

/** A Weir and the server of its users' links. */
class LinkedServer implements AsyncDisposable {
  readonly weir: Weir;
  readonly links: Child;
  readonly #url: string;

  private constructor(weir: Weir, links: Child, url: string) {
    this.weir = weir;
    this.links = links;
    this.#url = url;
  }

  static async start(
    more: readonly string[] = [],
    options: WeirOptions = {},
  ): Promise<LinkedServer> {
    const weir = await Weir.start(await serverText(), { control: true, ...options });
    const links = weirCommand([
      'links',
      'serve',
      '--config',
      join(weir.folder, 'weir.toml'),
      '--host',
      '127.0.0.1',
      '--listen',
      '127.0.0.1:0',
      '--socket',
      weir.controlPath,
      ...more,
    ]);
    const url = await links.until(
      'its address',
      ({ stdout }) => /^links of 2 users on (\S+), below /m.exec(stdout)?.[1],
    );
    return new LinkedServer(weir, links, url);
  }

  get config(): string {
    return join(this.weir.folder, 'weir.toml');
  }

  /** Runs a command on the file of the server. */
  async run(...args: readonly string[]): Promise<string> {
    const { ended, stdout, stderr } = await runWeir([...args, '--config', this.config]);
    assert.equal(ended?.code, 0, stderr);
    return stdout;
  }

  async linkOf(user: string): Promise<string> {
    const link = (await this.run('links', 'show', user)).trim();
    assert.ok(link.startsWith(this.#url), link);
    return link;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.links[Symbol.asyncDispose]();
    await this.weir[Symbol.asyncDispose]();
  }
}

async function statusOf(url: string, headers: Record<string, string> = {}): Promise<number> {
  const response = await fetch(url, { headers });
  await response.text();
  return response.status;
}

/** The outbounds of a configuration to the server of its links, each named after `label`. */
const outboundsOf = (config: string, label: string): string =>
  config
    .split(/(?=^\[\[?)/m)
    .filter((table) => /^\[\[?outbound\b/.test(table))
    .join('')
    .replaceAll(/^tag = "(?=127\.0\.0\.1 )/gm, `tag = "${label} `);

/** Fetches a page through each of the outbounds; returns their tags. */
async function fetchThrough(outbounds: string): Promise<readonly string[]> {
  await using origin = await webServer();
  const tags = Array.from(
    outbounds.matchAll(/^tag = "(\S+ 127\.0\.0\.1 .*)"$/gm),
    ([, tag = '']) => tag,
  );
  const ways = tags.map(
    (tag, index) =>
      `${socksIn(`to-${index}`)}[[route.rule]]\ninbound_tag = ["to-${index}"]\noutbound = "${tag}"\n`,
  );
  await using client = await Weir.start(ways.join('') + outbounds);
  for (const [index, tag] of tags.entries()) {
    const proxy = `socks5h://${hostPort(client.address(`to-${index}`))}`;
    const url = `http://${origin.host}:${origin.port}/bytes/1000`;
    const { code, stderr, body } = await curl(['--proxy', proxy, url]);
    assert.equal(code, 0, `${tag}: ${stderr}\n${client.child.stderr}`);
    assert.equal(body.bytes, 1000, tag);
  }
  return tags;
}

describe('weir links', () => {
  test('gives clients that work in every form, and as a subscription', async () => {
    await using server = await LinkedServer.start();
    const link = await server.linkOf('ann');
    const outbounds: string[] = [];
    for (const format of FORMATS) {
      const file = join(server.weir.folder, format);
      await writeFile(file, await (await fetch(`${link}?format=${format}`)).text());
      const { ended, stdout, stderr } = await runWeir(['import', file]);
      assert.equal(ended?.code, 0, stderr);
      outbounds.push(outboundsOf(stdout, format));
    }
    const whole = await (await fetch(`${link}?format=weir`)).text();
    const tags = await fetchThrough([...outbounds, outboundsOf(whole, 'weir')].join(''));
    for (const format of [...FORMATS, 'weir']) {
      const own = tags.filter((tag) => tag.startsWith(`${format} `));
      assert.deepEqual(
        own,
        SERVERS.map((name) => `${format} 127.0.0.1 ${name} ann`),
      );
    }
    const client = join(server.weir.folder, 'client.toml');
    await writeFile(client, `[subscribe]\npath = "nodes.toml"\n${socksIn()}`);
    const added = await runWeir(['subscribe', 'add', 'home', link, '--config', client]);
    assert.equal(added.ended?.code, 0, added.stderr);
    assert.match(added.stdout, /^home: \+3 =0/);
  });

  test('shows what is used and left of the limits of the running Weir', async () => {
    await using folder = await scratch();
    const limits = join(folder.path, 'limits.toml');
    await writeFile(limits, '');
    await using server = await LinkedServer.start([], { args: ['--limits', limits] });
    const at = ['--inbound', 'socks', '--socket', server.weir.controlPath];
    const login = { user: 'carol', pass: 'secret of carol' };
    await server.run(
      'user',
      'add',
      'carol',
      ...at,
      '--password',
      login.pass,
      '--limit',
      '1MB',
      '--reset',
      'monthly',
      '--until',
      '2099-01-31',
    );
    assert.match(await readFile(limits, 'utf8'), /user = "carol"\nbytes = "1MB"/);
    const link = await server.linkOf('carol');
    const quota = async (): Promise<string | null> =>
      (await fetch(link)).headers.get('subscription-userinfo');
    const expire = Date.UTC(2099, 1, 1) / 1000;
    await eventually(
      'the limits',
      async () =>
        (await quota()) === `upload=0; download=0; total=1000000; expire=${expire}` || undefined,
    );
    await using origin = await webServer();
    const proxy = `socks5h://${login.user}:${encodeURIComponent(login.pass)}@${hostPort(server.weir.address('socks'))}`;
    const url = `http://${origin.host}:${origin.port}/bytes/1000`;
    assert.equal((await curl(['--proxy', proxy, url])).code, 0);
    const [, used = ''] = /download=(\d+); total/.exec((await quota()) ?? '') ?? [];
    assert.ok(Number(used) > 1000, used);
    const list = await server.run('user', 'list', '--socket', server.weir.controlPath);
    assert.match(list, /^inbound +protocol +user +used +left +until +last seen$/m);
    assert.match(list, /^socks +socks +carol +1\.\d kB +999 kB +2099-01-31 +\d{4}-/m);
    await server.run('user', 'remove', 'carol', ...at);
    assert.doesNotMatch(await readFile(limits, 'utf8'), /carol/);
    assert.equal(await statusOf(link), 404);
  });

  test('ends the link of a user that is removed, and only that', async () => {
    await using server = await LinkedServer.start();
    const [ann, bob] = [await server.linkOf('ann'), await server.linkOf('bob')];
    await server.run('user', 'remove', 'bob', '--inbound', 'vless');
    assert.equal(await statusOf(bob), 404);
    assert.equal(await statusOf(ann), 200);
    await server.run('user', 'add', 'bob', '--inbound', 'vless');
    assert.equal(await statusOf(bob), 404);
    assert.equal(await statusOf(await server.linkOf('bob')), 200);
  });

  test('rotates a link, and lists them all', async () => {
    await using server = await LinkedServer.start();
    const before = await server.linkOf('ann');
    const after = (await server.run('links', 'rotate', 'ann')).trim();
    assert.equal(await statusOf(before), 404);
    assert.equal(await statusOf(after), 200);
    const list = JSON.parse(await server.run('links', 'list', '--json')) as {
      readonly user: string;
      readonly url: string;
    }[];
    assert.deepEqual(
      list.map(({ user }) => user),
      ['ann', 'bob'],
    );
    assert.equal(list[0]?.url, after);
    const table = await server.run('links', 'list');
    assert.ok(table.includes(after));
    const unknown = await runWeir(['links', 'show', 'anm', '--config', server.config]);
    assert.equal(unknown.ended?.code, 1);
    assert.equal(unknown.stderr, 'weir links: no user has the name "anm"; did you mean "ann"?\n');
  });

  test('writes no token and no secret where others could read it', async () => {
    await using server = await LinkedServer.start();
    const link = await server.linkOf('ann');
    for (const headers of [{}, { 'user-agent': 'clash' }, { accept: 'text/html' }]) {
      assert.equal(await statusOf(link, headers), 200);
    }
    assert.equal(await statusOf(`${link}?format=none`), 400);
    assert.equal(await statusOf(`${link}x`), 404);
    await writeFile(server.config, '[[inbound');
    assert.equal(await statusOf(link), 200);
    await server.links.terminate();
    const printed = server.links.stdout + server.links.stderr;
    assert.match(printed, /the users are those of before/);
    for (const secret of [new URL(link).pathname.slice(1), ANN, 'secret of ann']) {
      assert.ok(!printed.includes(secret));
    }
    const tokens = join(server.weir.folder, 'weir.links.json');
    assert.equal((await stat(tokens)).mode & 0o777, 0o600);
    assert.ok((await readFile(tokens, 'utf8')).includes(new URL(link).pathname.slice(1)));
  });

  test('is one address behind a reverse proxy, with a path of its own', async () => {
    await using server = await LinkedServer.start([
      '--url',
      'https://proxy.example.com/links',
      '--trusted-proxy',
      '127.0.0.1',
      '--front',
      'vless=443',
      '--title',
      'Home',
    ]);
    const link = (await server.run('links', 'show', 'ann')).trim();
    assert.match(link, /^https:\/\/proxy\.example\.com\/links\/[\w-]{43}$/);
    const served = /on (http:\S+),/.exec(server.links.stdout)?.[1] ?? '';
    const response = await fetch(`${served}${new URL(link).pathname}?format=links`);
    assert.equal(response.headers.get('profile-title'), 'Home');
    assert.equal(response.headers.get('profile-web-page-url'), link);
    assert.match(await response.text(), /^vless:\/\/\S+@127\.0\.0\.1:443\?\S*security=tls/m);
  });

  test('says what it lacks', async () => {
    await using server = await LinkedServer.start();
    const refused = async (status: number, ...args: readonly string[]): Promise<string> => {
      const { ended, stderr } = await runWeir(['links', ...args]);
      assert.equal(ended?.code, status, stderr);
      return stderr;
    };
    const config = ['--config', server.config];
    const serve = ['serve', ...config, '--host', '127.0.0.1'];
    assert.match(await refused(2, 'serve', ...config), /links serve needs --host HOST/);
    assert.match(await refused(2, 'serve', '--host', 'a.example'), /needs --config FILE/);
    assert.match(await refused(2, ...serve, '--listen', '0.0.0.0:0'), /other hosts could connect/);
    assert.match(await refused(2, ...serve, '--listen', './links.sock'), /needs --url URL/);
    assert.match(await refused(2, ...serve, '--url', 'http://a.example/'), /use https/);
    assert.match(
      await refused(2, ...serve, '--url', 'https://a.example/?b'),
      /expected an address/,
    );
    assert.match(await refused(2, ...serve, '--trusted-proxy', 'a'), /invalid IP address/);
    assert.match(await refused(2, ...serve, '--front', 'vless'), /TAG=PORT/);
    assert.match(await refused(2, ...serve, '--interval', '0'), /from 1 to 744/);
    assert.match(await refused(2, 'list', ...config, '--qr'), /--qr does not go with links list/);
    const tokens = join(server.weir.folder, 'other.json');
    assert.match(
      await refused(1, 'list', ...config, '--tokens', tokens),
      /the address of the links is not known\nhint: /,
    );
    await writeFile(tokens, '{}');
    assert.match(
      await refused(1, ...serve, '--tokens', tokens, '--listen', '127.0.0.1:0'),
      /is not a file of link tokens/,
    );
  });
});
