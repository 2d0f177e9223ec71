import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { RESULTS, resultsIn } from '../../support/matrix/result.ts';
import { circumstances, tables } from '../../support/matrix/table.ts';

/**
 * Before and after all test files of a run, which are processes of their own: a folder for what each
 * finds out, and the table of it. `WEIR_INTEROP_TABLE=1` puts the table into the documentation, and a
 * folder in `WEIR_INTEROP_RESULTS` gathers what several runs find out.
 */

const DOCUMENT = fileURLToPath(new URL('../../../docs/interop.md', import.meta.url));
const BEGIN = '<!-- table: written by npm run interop:table -->';
const END = '<!-- end of the table -->';

export function globalSetup(): void {
  if (process.env[RESULTS] !== undefined) return;
  own = mkdtempSync(join(tmpdir(), 'weir-interop-'));
  process.env[RESULTS] = own;
}

/** The folder of this run alone; absent when somebody gathers the results of several runs. */
let own: string | undefined;

export function globalTeardown(): void {
  const folder = process.env[RESULTS];
  if (folder === undefined) return;
  const results = resultsIn(folder);
  if (own !== undefined) rmSync(own, { recursive: true, force: true });
  if (results.length === 0) return;
  const text = `${circumstances(results)}\n\n${tables(results)}`;
  process.stdout.write(`\n${text}`);
  if (process.env['WEIR_INTEROP_TABLE'] === '1') rewrite(text);
}

function rewrite(text: string): void {
  const document = readFileSync(DOCUMENT, 'utf8');
  const [from, to] = [document.indexOf(BEGIN), document.indexOf(END)];
  if (from < 0 || to < from) throw new Error(`${DOCUMENT} has no place for the table`);
  const [before, after] = [document.slice(0, from + BEGIN.length), document.slice(to)];
  writeFileSync(DOCUMENT, `${before}\n\n${text}\n${after}`);
}
