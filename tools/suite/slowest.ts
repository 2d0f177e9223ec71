import { parseArgs } from 'node:util';
import { keptTimes, slowestLines, timedOf } from './times.ts';

/** Prints the slowest tests, or with `--files` files, of the last run of each suite or of those named. */
const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: {
    count: { type: 'string', short: 'n', default: '50' },
    files: { type: 'boolean', default: false },
  },
});
const times = Array.from(keptTimes(), ([suite, files]) =>
  positionals.length === 0 || positionals.includes(suite)
    ? timedOf(suite, files, values.files ? 'files' : 'tests')
    : [],
).flat();
for (const line of slowestLines(times, Number(values.count))) console.log(line);
