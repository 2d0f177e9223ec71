import { execFileSync, spawnSync } from 'node:child_process';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { Child } from '../support/process/child.ts';

/** Why this machine gives no root of one's own; `false` when it does. */
export function withoutOtherRoot(): string | false {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return 'needs root on Linux';
  for (const tool of ['unshare', 'nsenter', 'chroot', 'dpkg', 'dpkg-deb', 'adduser']) {
    if (spawnSync('sh', ['-c', `command -v ${tool}`]).status !== 0) return `there is no ${tool}`;
  }
  const { status } = spawnSync('unshare', ['--mount', 'mount', '-t', 'tmpfs', 'none', '/mnt']);
  return status === 0 ? false : 'mounts are not allowed here';
}

/**
 * The files of this machine under a layer of one's own, so that a package can be installed and removed as
 * on a real machine: what changes is in memory, and is gone with it. The network is the machine's.
 */
export class OtherRoot implements AsyncDisposable {
  /** Runs a command there: a prefix. */
  readonly prefix: readonly [string, ...string[]];
  /** Its root, as this process sees it. */
  readonly path: string;
  readonly #holder: Child;

  private constructor(holder: Child, mounted: string) {
    this.#holder = holder;
    this.path = `/proc/${holder.pid}/root${mounted}`;
    this.prefix = ['nsenter', `--mount=/proc/${holder.pid}/ns/mnt`, 'chroot', mounted];
  }

  /** @param folder an empty one. */
  static async create(folder: string): Promise<OtherRoot> {
    for (const name of ['memory', 'root']) await mkdir(join(folder, name));
    const script = `set -e
      mount -t tmpfs none memory
      mkdir memory/changes memory/work
      mount -t overlay overlay -o lowerdir=/,upperdir=memory/changes,workdir=memory/work root
      mount --rbind /dev root/dev
      mount -t proc proc root/proc
      mount -t tmpfs none root/run
      mount -t tmpfs none root/tmp
      echo ready
      read -r end`;
    const holder = new Child('unshare', ['--mount', 'sh', '-c', script], { cwd: folder });
    try {
      await holder.until('mounts', ({ stdout }) => stdout.includes('ready') || undefined);
    } catch (error) {
      await holder[Symbol.asyncDispose]();
      throw error;
    }
    return new OtherRoot(holder, join(folder, 'root'));
  }

  /** Runs a shell command there that must succeed; returns its output, errors included. */
  run(command: string): string {
    const [enter, ...options] = this.prefix;
    const args = [...options, 'sh', '-c', `{ ${command}; } 2>&1`];
    const env = { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', DEBIAN_FRONTEND: 'noninteractive' };
    return execFileSync(enter, args, { encoding: 'utf8', env, maxBuffer: 1 << 24 });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#holder[Symbol.asyncDispose]();
  }
}
