import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';

/** Why packets cannot be lost here; `false` when they can. */
export const withoutLoss = (): string | false =>
  spawnSync('nft', ['--version']).status === 0 ? false : 'nft is not installed';

/** Loses packets of a device, in both directions, during `use`. */
export async function withLoss(
  device: string,
  percent: number,
  use: () => Promise<void>,
): Promise<void> {
  const rules = `table inet loss {
    chain in { type filter hook input priority 0;
      iifname "${device}" numgen random mod 100 < ${percent} drop; }
    chain out { type filter hook output priority 0;
      oifname "${device}" numgen random mod 100 < ${percent} drop; }
  }`;
  const { status, stderr } = spawnSync('nft', ['-f', '-'], { input: rules, encoding: 'utf8' });
  assert.equal(status, 0, stderr);
  try {
    await use();
  } finally {
    spawnSync('nft', ['delete', 'table', 'inet', 'loss']);
  }
}
