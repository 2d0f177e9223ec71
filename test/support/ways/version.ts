import { spawnSync } from 'node:child_process';
import { findPeer, type PeerName } from '../peers.ts';

/** What the first group of `pattern` finds in what a program says; `undefined` without either. */
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
