/**
 * Loaded before a Weir with `--import`: its wall clock is `WEIR_TEST_SKEW_MS` off, or as much as the file
 * `WEIR_TEST_SKEW_FILE` says, which may change: then the clock jumps. The program itself is unchanged, and
 * deadlines, which run on the monotonic clock, are not affected.
 */
import { readFileSync } from 'node:fs';

/** The file is read this often. */
const READ_MS = 50;

const file = process.env['WEIR_TEST_SKEW_FILE'];
let skew = Number(process.env['WEIR_TEST_SKEW_MS'] ?? 0);
let readAt = -Infinity;
const now = Date.now.bind(Date);

Date.now = () => {
  if (file !== undefined && performance.now() - readAt >= READ_MS) {
    skew = Number(readFileSync(file, 'utf8'));
    readAt = performance.now();
  }
  return now() + skew;
};
