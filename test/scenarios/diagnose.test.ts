import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { requestProfile, requestReload } from '@weir/server/control';
import { MOST_FLOWS_OF_PROFILE } from '../../packages/server/src/app/control/messages.ts';
import { filesOf } from '../support/diagnose/untar.ts';
import { hostPort } from '../support/data/address.ts';
import { echoServer } from '../support/peers/servers.ts';
import { socksConnect } from '../support/peers/socks-client.ts';
import { freedom, proxyOut, rule, socksIn } from '../support/process/config.ts';
import { Beats, Download, ownAddress, streamOrigin } from '../support/process/load.ts';
import { API } from '../support/process/control.ts';
import { eventually, within } from '../support/wait.ts';
import { Child } from '../support/process/child.ts';
import { program, runWeir, scratch, Weir, weirCommand } from '../support/process/weir.ts';

/** Secrets of every kind that a configuration has. */
const SECRETS = {
  api: 'api-secret-5309',
  socks: 'socks-secret-5309',
  trojan: 'trojan-secret-5309',
  shadowsocks: 'shadowsocks-secret-5309',
  hysteria2: 'hysteria2-secret-5309',
  obfuscation: 'obfuscation-secret-5309',
  vless: 'b831381d-6324-4d53-ad4f-8cda48b30811',
  vmess: 'a3482e88-686a-4a58-8126-99c9df64b7bf',
  wireguard: Buffer.alloc(32, 5).toString('base64'),
  preshared: Buffer.alloc(32, 7).toString('base64'),
  environment: 'environment-secret-5309',
  // These give access to a server, or identify a customer of a resolver.
  path: '/path-secret-5309',
  service: 'service-secret-5309',
  resolver: 'resolver-secret-5309',
  subscription: 'subscription-secret-5309',
};

const NOWHERE = { host: '127.0.0.1', port: 9 };

const WIREGUARD = [
  `private_key = "${SECRETS.wireguard}", preshared_key = "${SECRETS.preshared}"`,
  `address = ["10.0.0.2"], endpoint = "127.0.0.1:9"`,
  `peer_public_key = "${Buffer.alloc(32, 6).toString('base64')}"`,
].join(', ');

const CONFIG = [
  `${API}secret = "${SECRETS.api}"\n`,
  `[dns]\nbackend = "https"\nserver = "127.0.0.1:9"\n`,
  `url = "https://dns.example/${SECRETS.resolver}?${SECRETS.resolver}"\n`,
  socksIn(
    'socks',
    `settings = { auth = "password", accounts = [{ user = "ann", pass = "${SECRETS.socks}" }] }`,
  ),
  `[[inbound]]\ntag = "vless"\nprotocol = "vless"\nport = 0\n`,
  `settings = { users = [{ id = "${SECRETS.vless}" }] }\n`,
  `stream = { network = "ws", ws = { path = "${SECRETS.path}" } }\n`,
  freedom(),
  proxyOut('t', 'trojan', NOWHERE),
  `settings = { password = "${SECRETS.trojan}" }\n`,
  `stream = { network = "grpc", grpc = { service_name = "${SECRETS.service}" } }\n`,
  proxyOut('v', 'vless', NOWHERE, `id = "${SECRETS.vless}"`),
  proxyOut('m', 'vmess', NOWHERE, `id = "${SECRETS.vmess}"`),
  proxyOut(
    's',
    'shadowsocks',
    NOWHERE,
    `method = "aes-256-gcm"\npassword = "${SECRETS.shadowsocks}"`,
  ),
  proxyOut(
    'h',
    'hysteria2',
    NOWHERE,
    `password = "${SECRETS.hysteria2}"\nobfs = "salamander"\nobfs_password = "${SECRETS.obfuscation}"`,
  ),
  `[[outbound]]\ntag = "wg"\nprotocol = "wireguard"\nsettings = { ${WIREGUARD} }\n`,
  `[[balancer]]\ntag = "both"\noutbounds = ["t", "v"]\n`,
  ...['t', 'v', 'm', 's', 'h', 'wg'].map((tag) => rule(tag, `domain_full = ["${tag}.example"]`)),
  `[subscribe]\npath = "nodes.toml"\n`,
].join('');

/** What `weir subscribe` keeps beside the configuration. */
const FILES = {
  'nodes.toml': '',
  'nodes.sources.toml': `[[source]]\nname = "home"\nurl = "https://provider.example/?token=${SECRETS.subscription}"\n`,
};

/** The files of an archive by their names. */
async function contentsOf(path: string): Promise<ReadonlyMap<string, string>> {
  const files = filesOf(gunzipSync(await readFile(path)));
  return new Map([...files].map(([name, bytes]) => [name.replace(/^[^/]*\//, ''), String(bytes)]));
}

/** Flows through every outbound, and requests to every inbound, of which most fail. */
async function touchEverything(weir: Weir): Promise<void> {
  const login = { user: 'ann', pass: SECRETS.socks };
  const hosts = ['direct', 't', 'v', 'm', 's', 'h', 'wg'].map((name) => `${name}.example`);
  const proxy = weir.address('socks');
  const flows = hosts.map((host) => socksConnect(proxy, { host, port: 443 }, login));
  const wrong = socksConnect(proxy, NOWHERE, { user: 'ann', pass: SECRETS.environment });
  for (const flow of await Promise.allSettled([...flows, wrong])) {
    if (flow.status === 'fulfilled') flow.value.destroy();
  }
  const vless = `http://${hostPort(weir.address('vless'))}`;
  for (const path of [SECRETS.path, `${SECRETS.path}/more`]) await fetch(`${vless}${path}`);
}

/** Whether another client records; otherwise this one does, for a moment. */
async function isRecording({ controlPath }: Weir): Promise<boolean> {
  const outcome = await requestProfile(controlPath, 0.001).catch((error: unknown) => error);
  return outcome instanceof Error && /another client records/.test(outcome.message);
}

/** Records until `signal`; the result is there once the recording has begun. */
async function startRecording(
  weir: Weir,
  signal: AbortSignal,
): Promise<{ ended: Promise<unknown> }> {
  for (;;) {
    const recording = requestProfile(weir.controlPath, 30, signal);
    let isRefused = false;
    const ended = recording.catch((error: unknown) => {
      isRefused = true;
      return error;
    });
    // The check itself may have been in its way.
    while (!isRefused) if (await isRecording(weir)) return { ended };
  }
}

/** None in any form: as it is, escaped, or coded for a URL. */
function hasNoSecret(text: string): void {
  for (const [kind, secret] of Object.entries(SECRETS)) {
    for (const form of [secret, encodeURIComponent(secret), JSON.stringify(secret).slice(1, -1)]) {
      assert.ok(!text.includes(form), kind);
    }
  }
}

describe('weir diagnose', () => {
  test('writes what a report needs of a running Weir, and none of its secrets', async () => {
    await using weir = await Weir.start(CONFIG, {
      control: true,
      files: FILES,
      env: { WEIR_LOG_ADDRESSES: 'net', WEIR_API_TOKEN: SECRETS.environment, RUST_LOG: 'trace' },
    });
    await touchEverything(weir);
    const file = join(weir.folder, 'weir.toml');
    const invalid = CONFIG.replace('network = "grpc"', 'network = "none"');
    await writeFile(file, invalid);
    await requestReload(weir.controlPath, 'a trial');
    await writeFile(file, CONFIG);
    const path = join(weir.folder, 'report.tar.gz');
    const diagnose = (...more: string[]) =>
      runWeir(['diagnose', '--socket', weir.controlPath, '--seconds=1', '--output', path, ...more]);

    const refused = await diagnose();
    assert.match(
      refused.stderr,
      /without a terminal to ask on, diagnose writes nothing; add --yes/,
    );
    assert.ok(!existsSync(path));

    const written = await diagnose('--yes');
    assert.equal((await within(written.exited, 'the end')).code, 0, written.stderr);
    assert.match(written.stdout, /^config\.toml +\S+ \S+ +the configuration in force, secrets/m);
    assert.doesNotMatch(written.stdout, /MISSING/);
    assert.equal((await stat(path)).mode & 0o777, 0o600);

    const files = await contentsOf(path);
    assert.deepEqual([...files.keys()].sort(), [
      'README.txt',
      'config.toml',
      'environment.txt',
      'heap.json',
      'log.txt',
      'status.json',
      'versions.txt',
      'weir.cpuprofile',
    ]);
    hasNoSecret([...files.values(), written.stdout, written.stderr].join('\n'));
    const text = (name: string): string => files.get(name) ?? '';
    assert.match(text('config.toml'), /tag = "wg"/);
    assert.match(text('config.toml'), /^url = "https:\/\/dns\.example\/\*\*\*"/m);
    assert.match(text('config.toml'), /^path = "\*\*\*"/m);
    // The log is detailed, and has the flows.
    assert.match(text('log.txt'), / DEBUG /);
    assert.match(text('log.txt'), /\.example/);
    assert.match(text('log.txt'), / INFO svc_app::instance: edited: a trial\n/);
    assert.match(text('environment.txt'), /^RUST_LOG=trace\n.*WEIR_API_TOKEN=\(set\)\n/ms);
    assert.match(text('versions.txt'), /^openssl: \d.*\nlibc: /m);
    assert.match(
      text('versions.txt'),
      /^node: \d+\S+ of 2\d{3}-.*\n.*security release.* known on 2/m,
    );
    assert.equal((JSON.parse(text('status.json')) as { pid: number }).pid, weir.pid);
    const profile = JSON.parse(text('weir.cpuprofile')) as {
      nodes: { id: number; callFrame: { url: string } }[];
      samples: number[];
      timeDeltas: number[];
      startTime: number;
      endTime: number;
    };
    const ids = new Set(profile.nodes.map(({ id }) => id));
    assert.ok(profile.samples.length > 0 && profile.samples.every((id) => ids.has(id)));
    assert.equal(profile.samples.length, profile.timeDeltas.length);
    assert.ok(profile.endTime > profile.startTime);
    assert.ok(profile.nodes.every(({ callFrame }) => !callFrame.url.includes('://')));
    assert.ok((JSON.parse(text('heap.json')) as { memory: { rss: number } }).memory.rss > 0);

    const again = await diagnose('--yes');
    assert.match(again.stderr, /report\.tar\.gz exists already/);
    const less = join(weir.folder, 'less.tar.gz');
    await diagnose('--yes', '--output', less, '--without=log', '--without', 'profile');
    const kept = await contentsOf(less);
    assert.ok(!kept.has('log.txt') && !kept.has('weir.cpuprofile') && kept.has('heap.json'));
    assert.match(kept.get('README.txt') ?? '', /^log +--without$/m);
  });

  test('writes what can be had where no Weir runs, and says what is missing', async () => {
    await using folder = await scratch();
    const config = join(folder.path, 'weir.toml');
    await writeFile(config, CONFIG.replace('network = "grpc"', `network = "${SECRETS.trojan}"`));
    const path = join(folder.path, 'report.tar.gz');
    const socket = join(folder.path, 'none.sock');
    const written = await runWeir(
      ['diagnose', '--yes', '--socket', socket, '--config', config, '-o', path],
      { env: { WEIR_LOG: 'json' } },
    );
    assert.equal((await written.exited).code, 0, written.stderr);
    const files = await contentsOf(path);
    assert.deepEqual(
      [...files.keys()],
      ['README.txt', 'versions.txt', 'config.toml', 'environment.txt'],
    );
    assert.match(files.get('README.txt') ?? '', /^status +no status through .*none\.sock: /m);
    assert.match(files.get('config.toml') ?? '', /^# .*weir\.toml is invalid:\n# /);
    assert.match(files.get('environment.txt') ?? '', /^WEIR_LOG=json$/m);
    hasNoSecret([...files.values(), written.stdout, written.stderr].join('\n'));
  });

  test('disturbs no flow, and is an archive for tar(1)', async () => {
    await using origin = await streamOrigin();
    await using weir = await Weir.start(`${socksIn()}${freedom()}`, { control: true });
    const flows = await Promise.all(
      Array.from({ length: 20 }, async () => {
        const host = ownAddress();
        const to = { host, port: origin.port };
        return new Download(await socksConnect(weir.address('socks'), to), host);
      }),
    );
    using beats = new Beats(
      5,
      flows.map((flow) => () => flow.round(20_000)),
    );
    const path = join(weir.folder, 'report.tar.gz');
    const written = await runWeir([
      'diagnose',
      '--yes',
      '--seconds=2',
      '--socket',
      weir.controlPath,
      '--output',
      path,
    ]);
    assert.equal(written.ended?.code, 0, written.stderr);
    await beats.stop();
    for (const flow of flows) {
      assert.ok(flow.moved.down > 0);
      await flow.end();
    }
    const unpacked = spawnSync('tar', ['--extract', '--gzip', '--file', path], {
      cwd: weir.folder,
      encoding: 'utf8',
    });
    assert.deepEqual([unpacked.status, unpacked.stderr], [0, '']);
    const [name = ''] =
      /^weir-diagnose-\d{8}T\d{6}Z$/m.exec((await readdir(weir.folder)).join('\n')) ?? [];
    const folder = join(weir.folder, name);
    const files = await readdir(folder);
    assert.equal(files.length, 8);
    for (const file of files) {
      const { mode, size } = await stat(join(folder, file));
      assert.deepEqual([mode & 0o777, size > 0], [0o600, true], file);
    }
    const { flows: open } = JSON.parse(await readFile(join(folder, 'status.json'), 'utf8')) as {
      readonly flows: number;
    };
    assert.equal(open, flows.length);
    const profile = await readFile(join(folder, 'weir.cpuprofile'), 'utf8');
    assert.match(profile, /"url":"(src\/net\/|chunk-)/);
  });

  test('has the rest where another client records, and where Weir ends meanwhile', async () => {
    await using weir = await Weir.start(`${socksIn()}${freedom()}`, { control: true });
    const path = (name: string): string => join(weir.folder, `${name}.tar.gz`);
    const options = ['--yes', '--seconds=30', '--socket', weir.controlPath];
    const leaving = new AbortController();
    const other = await startRecording(weir, leaving.signal);
    const second = await runWeir(['diagnose', ...options, '--output', path('second')]);
    assert.equal(second.ended?.code, 0, second.stderr);
    const beside = await contentsOf(path('second'));
    assert.match(beside.get('README.txt') ?? '', /^profile +another client records a profile$/m);
    assert.ok(beside.has('heap.json') && !beside.has('weir.cpuprofile'));
    leaving.abort();
    await other.ended;
    await eventually('its end', async () => !(await isRecording(weir)));

    await using first = weirCommand(['diagnose', ...options, '--output', path('first')]);
    await first.until('the recording', ({ stderr }) => stderr.includes('recording') || undefined);
    await weir.stop('SIGKILL');
    assert.equal((await within(first.exited, 'the end')).code, 0, first.stderr);
    const rest = await contentsOf(path('first'));
    assert.deepEqual(
      [...rest.keys()],
      ['README.txt', 'status.json', 'versions.txt', 'config.toml'],
    );
    const readme = rest.get('README.txt') ?? '';
    assert.match(readme, /^profile +no profile through /m);
    assert.match(readme, /^heap +no profile through /m);
    assert.match(readme, /^log +no log through /m);
  });

  test('is for the user of Weir and root alone', async (t) => {
    if (process.geteuid?.() !== 0) return t.skip('only root can be another user');
    await using weir = await Weir.start(`${socksIn()}${freedom()}`, { control: true });
    // It can reach the socket, and may not connect.
    await chmod(weir.folder, 0o755);
    const connect = (uid: number) =>
      spawnSync(
        'python3',
        [
          '-c',
          'import socket, sys; socket.socket(socket.AF_UNIX).connect(sys.argv[1])',
          weir.controlPath,
        ],
        { encoding: 'utf8', uid },
      );
    const own = connect(0);
    if (own.error) return t.skip('python3 is not installed');
    assert.equal(own.status, 0, own.stderr);
    assert.match(connect(65_534).stderr, /PermissionError/);
  });

  test('stops no Weir of many flows by the start of a recording, unless it is told to', async () => {
    await using origin = await echoServer();
    await using weir = await Weir.start(`${socksIn('socks', 'sniffing = false')}${freedom()}`, {
      control: true,
    });
    const flows: Socket[] = [];
    for (let i = 0; i <= MOST_FLOWS_OF_PROFILE; i++) {
      flows.push(await socksConnect(weir.address('socks'), origin));
    }
    await assert.rejects(requestProfile(weir.controlPath, 0.01), /more than 500 flows.*--busy/);
    assert.ok((await requestProfile(weir.controlPath, 0.01, undefined, true)).profile);
    for (const flow of flows) flow.destroy();
  });

  test('records for one client at a time, and not for one that has left', async () => {
    await using weir = await Weir.start(`${socksIn()}${freedom()}`, { control: true });
    // Without a recording nothing is exclusive.
    assert.equal((await requestProfile(weir.controlPath, 0)).profile, null);
    const leaving = new AbortController();
    const first = await startRecording(weir, leaving.signal);
    const reason = new Error('enough');
    leaving.abort(reason);
    assert.equal(await first.ended, reason);
    await eventually('the end of the first recording', async () => !(await isRecording(weir)));
    assert.ok((await requestProfile(weir.controlPath, 0.01)).profile);
    await assert.rejects(requestProfile(weir.controlPath, 31), { code: 'profile' });
  });

  test('asks on a terminal, and writes nothing without a yes', async (t) => {
    if (!existsSync('/usr/bin/script')) return t.skip('script is not installed');
    await using folder = await scratch();
    const answerWith = async (answer: string): Promise<readonly [number | null, boolean]> => {
      const path = join(folder.path, `${answer}.tar.gz`);
      const none = join(folder.path, 'none.sock');
      const command = [...program(), 'diagnose', '--socket', none, '--output', path];
      const line = command.map((word) => `'${word}'`).join(' ');
      await using child = new Child('script', ['-q', '-e', '-c', line, '/dev/null']);
      await child.until('the question', ({ stdout }) => stdout.includes('[y/N]') || undefined);
      child.stdin.write(`${answer}\n`);
      const { code } = await within(child.exited, 'the end of weir diagnose');
      return [code, existsSync(path)];
    };
    assert.deepEqual(await Promise.all([answerWith('n'), answerWith('y')]), [
      [1, false],
      [0, true],
    ]);
  });
});
