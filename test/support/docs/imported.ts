import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { importCommand } from '../../../packages/weir/src/cli/nodes/import.ts';
import { scratch } from '../process/weir.ts';

/**
 * What `weir import` prints for a document.
 * @throws {Error} with its standard error, when it fails or leaves anything out.
 */
export async function importConfigOf(document: string): Promise<string> {
  await using folder = await scratch();
  const file = join(folder.path, 'document');
  writeFileSync(file, document);
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  const status = await importCommand([file], { stdout, stderr, env: {} });
  const notes = String(stderr.read() ?? '');
  if (status !== 0 || notes.split('\n').length > 2) throw new Error(`status ${status}: ${notes}`);
  return String(stdout.read() ?? '');
}
