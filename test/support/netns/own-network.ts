import { spawn, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { basename } from 'node:path';
import test from 'node:test';
import { fileURLToPath } from 'node:url';
import { noKernelSockets } from '../links/kernel-io.ts';

/** Set in the process that runs in a network of its own. */
const INSIDE = 'WEIR_TEST_NETWORK';

/**
 * Prepares what is private to the test file: `ip netns` keeps its names in /run/netns, wireguard-go its
 * sockets in /run/wireguard, and the loopback is down at first.
 */
const PREPARE =
  'for name in netns wireguard; do' +
  ' mkdir -p /run/$name && mount -t tmpfs tmpfs /run/$name || exit; done;' +
  ' ip link set lo up && exec "$@"';

/**
 * Network, mounts and processes of its own. All of it ends with the process that has asked for it, in
 * whatever way that ends, and with it every device, route and namespace.
 */
const commandIn = (command: readonly string[]): readonly string[] =>
  [
    'setpriv --pdeathsig KILL',
    'unshare --net --mount --pid --fork --kill-child --mount-proc',
    'sh -c',
  ]
    .join(' ')
    .split(' ')
    .concat(PREPARE, 'sh', command);

/** Why tests that need a network of their own cannot run here; `false` when they can. */
export function withoutOwnNetwork(): string | false {
  if (process.platform !== 'linux') return 'network namespaces are of Linux';
  if (process.getuid?.() !== 0) return 'not root: network namespaces cannot be made';
  if (!existsSync('/dev/net/tun')) return 'no /dev/net/tun';
  const [program = '', ...args] = commandIn(['true']);
  const { status, error, stderr } = spawnSync(program, args, { encoding: 'utf8' });
  if (error) return `no network namespaces: ${error.message}`;
  return status === 0 ? noKernelSockets : `no network namespaces: ${stderr.trim()}`;
}

/**
 * Runs the tests that `define` defines in a network of their own, which has a loopback and nothing else:
 * the file starts itself again inside of it. Where that cannot be done they are skipped, with the reason.
 *
 * @param module of the test file: `import.meta.url`.
 */
export function inOwnNetwork(module: string, define: () => void): void {
  if (process.env[INSIDE] === '1') {
    define();
    return;
  }
  const file = fileURLToPath(module);
  const skip = withoutOwnNetwork();
  if (skip !== false) {
    test(basename(file), { skip }, () => undefined);
    return;
  }
  // The runner reads the results of the process inside from the output that both have.
  startInside([file]);
}

/**
 * Runs a program in a network of its own in the same way, with its command line.
 *
 * @param module of the program: `import.meta.url`.
 * @throws {Error} where that cannot be done, with the reason.
 */
export async function runInOwnNetwork(module: string, run: () => Promise<void>): Promise<void> {
  if (process.env[INSIDE] === '1') {
    await run();
    return;
  }
  const reason = withoutOwnNetwork();
  if (reason !== false) throw new Error(reason);
  startInside([fileURLToPath(module), ...process.argv.slice(2)]);
}

function startInside(command: readonly string[]): void {
  const [program = '', ...args] = commandIn([process.execPath, ...process.execArgv, ...command]);
  const inside = spawn(program, args, {
    stdio: 'inherit',
    env: { ...process.env, [INSIDE]: '1' },
  });
  inside.once('error', (error) => {
    throw error;
  });
  inside.once('close', (code) => {
    process.exitCode = code ?? 1;
  });
}
