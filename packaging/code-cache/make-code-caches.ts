import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { ROOT } from '../root.ts';
import { REPEATABLE, runTool } from '../tool.ts';

export interface CodeCacheOptions {
  /** What runs that Node on this machine: a program with its arguments, or nothing. */
  readonly prefix: readonly string[];
  /** The Node of the executable. */
  readonly node: string;
  /** V8 accepts a cache under the options alone under which it was made. */
  readonly execArgv: readonly string[];
  /** The folder of the chunks. */
  readonly chunks: string;
  /** Where the caches go, each under the name of its chunk. */
  readonly folder: string;
}

/**
 * Makes a code cache of each chunk, with all of its functions. A run of the program would choose those that it
 * calls, and no two runs call the same ones: timers fire or do not. Two builds would differ.
 */
export async function makeCodeCaches(options: CodeCacheOptions): Promise<void> {
  const { prefix, node, execArgv, chunks, folder } = options;
  await mkdir(folder, { recursive: true });
  const script = join(ROOT, 'packaging/code-cache/compile-chunks.ts');
  const [program = node, ...args] = [...prefix, node, ...execArgv, ...REPEATABLE];
  await runTool(program, [...args, script, chunks, folder]);
}
