import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

/**
 * Gives this namespace an /etc of its own, a copy of the system's, and an empty /run: what tests and programs
 * write there is seen nowhere else. To be called once, before namespaces get names.
 */
export function makePrivateSystem(): Disposable {
  const folder = mkdtempSync(join(tmpdir(), 'weir-test-etc-'));
  // The file may be a mount by itself, which a copy is not.
  execFileSync('cp', ['-a', '/etc/.', folder]);
  execFileSync('mount', ['--bind', folder, '/etc']);
  execFileSync('mount', ['-t', 'tmpfs', 'tmpfs', '/run']);
  return {
    [Symbol.dispose]() {
      execFileSync('umount', ['--lazy', '/etc']);
      rmSync(folder, { recursive: true });
    },
  };
}

/** Writes a file below /etc or /run, in place of whatever is there. */
export function put(path: string, text: string): void {
  rmSync(path, { force: true });
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}
