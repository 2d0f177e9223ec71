import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { runWeir, scratch } from '../support/process/weir.ts';
import { programOrSkip } from './support/program.ts';

/*
 * zzuf changes bits of files by a seed: `weir --test` and `weir import` say what is wrong with the rest, or take
 * it. A crash, an endless loop and a heap beyond its bound are failures.
 */

const zzuf = programOrSkip('zzuf');
/** Seeds for each file and kind of mutation: `WEIR_FUZZ_SEEDS`, or a few. */
const SEEDS = Number(process.env['WEIR_FUZZ_SEEDS'] ?? 3);
/** Keeps quotes, brackets and lines, so that a mutation gets past the parser, and gives no other control bytes. */
const KEEPS_STRUCTURE = ['-P', String.raw`"{}[]:,=\n`, '-R', String.raw`\x00-\x1f"\\\x7f-\xff`];
/** zzuf's options: the share of the bits that are changed, and which of them. */
const MUTATIONS = [
  ['-r', '0.0001'],
  ['-r', '0.01'],
  ['-r', '0.0005', ...KEEPS_STRUCTURE],
  ['-r', '0.005', ...KEEPS_STRUCTURE],
];
/** What a file of some kilobytes may make the heap, in MB. */
const HEAP = '--max-old-space-size=96';

const file = (path: string): string => fileURLToPath(new URL(`../../${path}`, import.meta.url));

const CONFIGS = ['accounts', 'balancer', 'rules', 'tun', 'wireguard'].map((name) =>
  file(`config/${name}.toml`),
);
const DOCUMENTS = ['sing-box-client', 'sing-box-server', 'xray-client', 'xray-server'].map((name) =>
  file(`test/support/import/documents/${name}.json`),
);

function mutated(path: string, mutation: readonly string[], seed: number): Uint8Array {
  const { status, stdout, stderr } = spawnSync(zzuf.path, [...mutation, '-s', String(seed)], {
    input: readFileSync(path),
  });
  assert.equal(status, 0, String(stderr));
  return stdout;
}

/** Runs Weir on each variant of a file, two at a time; returns how many it has taken. */
async function tryVariants(path: string, args: readonly string[]): Promise<number> {
  await using folder = await scratch();
  const variants = MUTATIONS.flatMap((mutation, kind) =>
    Array.from({ length: SEEDS }, (_, seed) => ({ mutation, kind, seed })),
  );
  let taken = 0;
  const worker = async (): Promise<void> => {
    for (let next = variants.pop(); next; next = variants.pop()) {
      const { mutation, kind, seed } = next;
      const what = `zzuf ${mutation.join(' ')} -s ${seed}`;
      const copy = join(folder.path, `${kind}-${seed}`);
      writeFileSync(copy, mutated(path, mutation, seed));
      const { ended, stderr, stdout } = await runWeir([...args, copy], { nodeArgs: [HEAP] });
      assert.equal(ended?.signal, null, `${what}: ${stderr}`);
      assert.ok(ended.code === 0 || ended.code === 1, `${what}: ${ended.code}\n${stderr}`);
      // An error has a message of its own: a stack would be that of a defect.
      assert.doesNotMatch(stderr, /^\s+at .*\.[jt]s:\d|internal error/m, what);
      if (ended.code === 0) taken++;
      else assert.notEqual(stderr + stdout, '', what);
    }
  };
  await Promise.all([worker(), worker()]);
  return taken;
}

describe('files that zzuf has changed', { skip: zzuf.skip }, () => {
  for (const [command, args, paths] of [
    ['weir --test', ['--test', '--config'], CONFIGS],
    ['weir import', ['import'], DOCUMENTS],
  ] as const) {
    for (const path of paths) {
      test(`${command}: ${path.slice(path.lastIndexOf('/') + 1)}`, async (t) => {
        t.diagnostic(`${await tryVariants(path, args)} were taken`);
      });
    }
  }
});
