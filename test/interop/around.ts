import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { chooseCells, isForTable } from '../support/matrix/chosen.ts';
import { globalSetup as startWeirOnce } from '../support/process/around.ts';
import { RESULTS, resultsIn } from '../support/matrix/result.ts';
import { circumstances, tables } from '../support/matrix/table.ts';

/**
 * Before and after all test files of a run, which are processes of their own: a compile
 * cache, a folder for the results of each, and the table of them. `WEIR_INTEROP_TABLE=1` puts the
 * table into the documentation, and a folder in `WEIR_INTEROP_RESULTS` gathers several runs.
 */

const DOCUMENT = fileURLToPath(new URL('../../docs/interop.md', import.meta.url));
const BEGIN = '<!-- table: written by npm run interop:table -->';
const END = '<!-- end of the table -->';

/** What lasts as long as the run. */
const own = mkdtempSync(join(tmpdir(), 'weir-interop-'));

export async function globalSetup(): Promise<void> {
  await startWeirOnce();
  const results = join(own, 'results');
  mkdirSync(results);
  process.env[RESULTS] ??= results;
}

export function globalTeardown(): void {
  const folder = process.env[RESULTS];
  if (folder === undefined) return;
  const results = resultsIn(folder);
  rmSync(own, { recursive: true, force: true });
  if (results.length === 0) return;
  const text = `${circumstances(results)}\n\n${tables(results)}`;
  const { fillable, chosen } = chooseCells();
  process.stdout.write(
    `\n${text}\n${chosen.length} of the ${fillable.length} cells that programs of this machine can fill` +
      `${isForTable() ? '' : ', with every pair of programs, protocol, carrier, cipher, multiplexing and accounts'}\n`,
  );
  if (isForTable()) rewrite(text);
}

function rewrite(text: string): void {
  const document = readFileSync(DOCUMENT, 'utf8');
  const [from, to] = [document.indexOf(BEGIN), document.indexOf(END)];
  if (from < 0 || to < from) throw new Error(`${DOCUMENT} has no place for the table`);
  const [before, after] = [document.slice(0, from + BEGIN.length), document.slice(to)];
  writeFileSync(DOCUMENT, `${before}\n\n${text}\n${after}`);
}
