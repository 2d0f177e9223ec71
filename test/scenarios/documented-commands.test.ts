import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { chooseCommand } from '../../packages/weir/src/cli/commands.ts';
import { parseRun } from '../../packages/weir/src/cli/run/command.ts';
import { hostPort } from '../support/data/address.ts';
import { Child } from '../support/process/child.ts';
import { NOT_RUN, PLAIN_TOOLS } from '../support/docs/not-run.ts';
import { blocksOf, PAGES, ROOT } from '../support/docs/pages.ts';
import { commandsOf, type ShellCommand } from '../support/docs/shell.ts';
import { scratch, Weir, weirCommand } from '../support/process/weir.ts';

interface Documented extends ShellCommand {
  readonly place: string;
}

/** Every command of every block of `sh`, without `sudo`. */
const COMMANDS: readonly Documented[] = PAGES.flatMap((page) => blocksOf(page))
  .filter(({ language }) => language === 'sh')
  .flatMap(({ page, line, text }) =>
    commandsOf(text).map((command) => ({
      text: command.text,
      words: command.words[0] === 'sudo' ? command.words.slice(1) : command.words,
      place: `${page}:${line}`,
    })),
  );

/** Those that several pages have, once. */
const DISTINCT = Array.from(
  new Map(COMMANDS.map((command) => [command.words.join(' '), command])).values(),
);

/** The arguments of `weir` in a command, also of `npm start --`. */
function weirArguments([program, ...args]: readonly string[]): readonly string[] | undefined {
  if (program === 'weir') return args;
  if (program === 'npm' && args[0] === 'start') return args.slice(args[1] === '--' ? 2 : 1);
  return undefined;
}

/** Fails as the command line would, without carrying it out. */
async function parseWeir(argv: readonly string[]): Promise<void> {
  const [command, rest] = chooseCommand(argv);
  const { parse } = (await command.load?.()) ?? { parse: parseRun };
  parse(command.name === 'version' ? ['--version', ...rest] : rest);
}

const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
  scripts: Readonly<Record<string, string>>;
};

/** What `npm` is asked for has to exist. */
function checkNpm([, verb = '', name = '']: readonly string[]): void {
  if (verb === 'run') assert.ok(Object.hasOwn(scripts, name), `there is no script ${name}`);
  else assert.ok(['audit', 'ci', 'install', 'publish', 'start', 'test'].includes(verb), verb);
}

/** A request to the API, as the pages write it. */
const isApiCall = ({ words }: ShellCommand): boolean =>
  words[0] === 'curl' &&
  words.some((word) => /^http:\/\/(?:127\.0\.0\.1:9090|localhost)\//.test(word));

/** A request through a proxy of Weir or, to compare, without it. */
const isFetch = (command: ShellCommand): boolean =>
  command.words[0] === 'curl' && !isApiCall(command);

describe('the command of the documentation', () => {
  for (const command of COMMANDS) {
    const { place, text, words } = command;
    const [program = ''] = words;
    if (program === 'curl') continue; // Runs below.
    test(`${place}: ${text}`, async () => {
      const argv = weirArguments(words);
      if (argv) await parseWeir(argv);
      else if (program === 'npm') checkNpm(words);
      else assert.ok(NOT_RUN.has(program) || PLAIN_TOOLS.has(program), `${program} is not known`);
    });
  }
});

test('each program that no test runs is on a page', () => {
  const used = new Set(COMMANDS.map(({ words }) => words[0]));
  const unused = [...NOT_RUN.keys(), ...PLAIN_TOOLS].filter((program) => !used.has(program));
  assert.deepEqual(unused, []);
});

const NODES = ['tokyo', 'Tokyo', 'Osaka']
  .map(
    (name) =>
      `[[proxy_server]]\nname = "${name}"\nprotocol = "socks"\nserver = "127.0.0.1"\nport = 9\n`,
  )
  .join('');
const GROUPS =
  '[[route_group]]\nname = "Video Streaming"\n[[route_group.rule]]\ndomain_suffix = ["video.example"]\n';

/** What the pages assume that runs. */
const config = (api: string): string => `
[[inbound]]
tag = "socks"
protocol = "socks"
port = 0
[[inbound]]
tag = "http"
protocol = "http"
port = 0
[[outbound]]
tag = "direct"
protocol = "freedom"
${['first', 'second', 'hysteria', 'away'].map((tag) => `[[outbound]]\ntag = "${tag}"\nprotocol = "socks"\nserver = "127.0.0.1"\nport = 9\n`).join('')}
[[route.rule]]
outbound = "direct"
cidr = ["127.0.0.0/8"]
[subscribe]
path = "nodes.toml"
[api]
listen = "${api}"
secret = "a secret"
`;

test('curl commands of the API work as the pages have them, and so do those of weir ctl', async (t) => {
  const server = await origin();
  t.after(() => server.close());
  await using folder = await scratch();
  const socket = join(folder.path, 'api.sock');
  await using weir = await Weir.start(config(socket), {
    files: { 'nodes.toml': `${NODES}${GROUPS}` },
  });
  await weir.child.until('the API', () => /API listening/.test(weir.child.stderr) || undefined);
  const secretFile = join(folder.path, 'secret');
  writeFileSync(secretFile, 'a secret\n');
  writeFileSync(join(folder.path, 'header-file'), 'Authorization: Bearer a secret\n');

  const fetchOnce = async (): Promise<void> => {
    const proxy = `socks5h://${hostPort(weir.address('socks'))}`;
    await using child = new Child('curl', ['-sS', '--proxy', proxy, urlOf(server)]);
    assert.equal((await child.exited).code, 0, child.stderr);
  };
  for (const { place, text, words } of DISTINCT.filter(isApiCall)) {
    await t.test(`${place}: ${text}`, async () => {
      const rewritten = words.slice(1).map((word, index) => {
        if (words[index] === '--unix-socket') return socket;
        return word.replace('$SECRET', 'a secret').replace('127.0.0.1:9090', 'localhost');
      });
      const unix = words.includes('--unix-socket') ? [] : ['--unix-socket', socket];
      const authorized = words.some(
        (word) => word.startsWith('Authorization') || word.startsWith('@'),
      );
      const header = authorized ? [] : ['-H', 'Authorization: Bearer a secret'];
      const args = ['-sS', '-i', '--max-time', '30', ...unix, ...header, ...rewritten];
      await using child = new Child('curl', args, { cwd: folder.path });
      // The response to a subscriber of events begins with the first of them.
      while (text.includes('/events') && child.stdout === '') await fetchOnce();
      const status = await child.until(
        'a response',
        () => /^HTTP\/1.1 (\d+)/.exec(child.stdout)?.[1],
      );
      // The pages say so: flow 17 and the tag of the file are those of an example.
      const expected = text.includes('connections/17')
        ? '404'
        : text.includes('If-Match')
          ? '409'
          : /^20[04]$/;
      assert.match(status, new RegExp(expected), child.stdout);
    });
  }

  const controls = DISTINCT.flatMap(({ place, text, words }) => {
    const argv = weirArguments(words);
    return argv?.[0] === 'ctl' ? [{ place, text, argv }] : [];
  });
  for (const { place, text, argv } of controls) {
    await t.test(`${place}: ${text}`, async () => {
      await using child = weirCommand([...argv, '--api', socket, '--secret-file', secretFile]);
      const isStream = ['events', 'traffic'].includes(argv[1] ?? '');
      const events = argv[1] === 'events';
      // An event needs a flow, once the stream has begun.
      while (events && !child.stdout.includes('\n')) await fetchOnce();
      if (isStream) await child.until('a line', () => child.stdout.includes('\n') || undefined);
      else assert.equal((await child.exited).code, 0, child.stderr);
    });
  }
});

/** Any page of any host. */
async function origin(): Promise<Server> {
  const server = createServer((_, response) => response.end('the page\n'));
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', () => resolve()));
  return server;
}

function urlOf(server: Server): string {
  const address = server.address();
  return `http://127.0.0.1:${typeof address === 'object' ? (address?.port ?? 0) : 0}`;
}

test('curl commands through Weir, and without it, fetch a page', async (t) => {
  const server = await origin();
  t.after(() => server.close());
  await using folder = await scratch();
  const accounts = 'accounts = [{ user = "home", pass = "change me" }]';
  await using weir = await Weir.start(
    `[[outbound]]\ntag = "direct"\nprotocol = "freedom"\n${['socks', 'http']
      .flatMap((protocol) => [
        `[[inbound]]\ntag = "${protocol}"\nprotocol = "${protocol}"\nport = 0\n`,
        `[[inbound]]\ntag = "${protocol}-home"\nprotocol = "${protocol}"\nport = 0\nsettings = { ${protocol === 'socks' ? 'auth = "password", ' : ''}${accounts} }\n`,
      ])
      .join('')}`,
  );
  for (const { place, text, words } of COMMANDS.filter(isFetch)) {
    await t.test(`${place}: ${text}`, async () => {
      const rewritten = words.slice(1).map((word) =>
        word
          .replace('127.0.0.1:1080', hostPort(weir.address('socks')))
          .replace('127.0.0.1:8080', hostPort(weir.address('http')))
          .replace('192.168.1.2:1080', hostPort(weir.address('socks-home')))
          .replace('192.168.1.2:8080', hostPort(weir.address('http-home')))
          .replace(/^https?:\/\/(?:\w+\.)*example(?:\.com)?(?::\d+)?/, urlOf(server)),
      );
      await using child = new Child('curl', ['-sS', '--max-time', '30', ...rewritten], {
        cwd: folder.path,
      });
      const { code } = await child.exited;
      assert.equal(code, 0, child.stderr);
      const page = words.includes('-o')
        ? readFileSync(join(folder.path, 'download'), 'utf8')
        : child.stdout;
      assert.equal(page, 'the page\n');
    });
  }
});

test('the certificate hook of the VPS guide is valid shell, and copies what certbot has renewed', async () => {
  await using folder = await scratch();
  const block = PAGES.flatMap((page) => blocksOf(page)).find(({ text }) =>
    text.includes('RENEWED_LINEAGE'),
  );
  const bin = join(folder.path, 'bin');
  mkdirSync(bin);
  mkdirSync(join(folder.path, 'live'));
  writeFileSync(join(folder.path, 'live/fullchain.pem'), 'certificate');
  writeFileSync(join(folder.path, 'live/privkey.pem'), 'key');
  const log = join(folder.path, 'systemctl.log');
  writeFileSync(join(bin, 'systemctl'), `#!/bin/sh\necho "$@" >> ${log}\n`, { mode: 0o755 });
  // This user's own group in place of the service's.
  const script = (block?.text ?? '')
    .replaceAll('/etc/weir', folder.path)
    .replaceAll('-g weir', '')
    .replaceAll('chgrp weir', 'ls');
  const env = { ...process.env, PATH: `${bin}:${process.env['PATH']}` };
  const run = (variables: Readonly<Record<string, string>>): number | null =>
    spawnSync('sh', ['-c', script], { env: { ...env, ...variables } }).status;
  assert.equal(run({ RENEWED_LINEAGE: join(folder.path, 'live') }), 0);
  assert.equal(readFileSync(join(folder.path, 'cert.pem'), 'utf8'), 'certificate');
  assert.equal(readFileSync(join(folder.path, 'key.pem'), 'utf8'), 'key');
  assert.equal(run({ RENEWED_LINEAGE: '' }), 0);
  assert.deepEqual(readFileSync(log, 'utf8').trim().split('\n'), [
    'is-active --quiet weir',
    'reload weir',
    'is-active --quiet weir',
    'reload weir',
  ]);
});
