import { readFileSync } from 'node:fs';
import { openSelf } from '../src/platform/native.ts';

const MADV_DONTNEED = 4;

/**
 * Unmaps the pages of the executable's code, of which a start reads more than half and what follows a part: each
 * is mapped again, from the cache of files, when it is next needed. Only code: it has no page that differs from
 * the file. Linux only, and without effect where it is not possible.
 */
export function releaseCode(): void {
  try {
    const maps = readFileSync('/proc/self/maps', 'latin1');
    const advise = openSelf().func('int madvise(uintptr_t address, size_t length, int advice)');
    for (const { from, length } of codeOf(maps, process.execPath)) {
      advise(from, length, MADV_DONTNEED);
    }
  } catch {
    // Without native functions or /proc they stay.
  }
}

/** The mappings of a program's file that are executable and cannot be written to, from proc(5). */
export function codeOf(maps: string, path: string): { from: number; length: number }[] {
  const found = [];
  for (const line of maps.split('\n')) {
    const [, from = '', to = ''] = /^([0-9a-f]+)-([0-9a-f]+) r-xp /.exec(line) ?? [];
    if (from === '' || !line.endsWith(` ${path}`)) continue;
    const start = Number.parseInt(from, 16);
    found.push({ from: start, length: Number.parseInt(to, 16) - start });
  }
  return found;
}
