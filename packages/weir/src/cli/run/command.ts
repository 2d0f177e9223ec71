import { VERSION } from '@weir/base';
import type { Importable } from '@weir/server/app/log/error-lines';
import type { CommandIo } from '../command.ts';
import type { CommandTopic } from '../help.ts';
import { helpWith, parseRun } from './arguments.ts';

/** The formats that `weir import` reads. */
const IMPORTABLE: Importable = ['json', 'yaml', 'links', 'wireguard'];

/**
 * `weir run`, and the options of `weir` that only print. Each imports its implementation when it
 * runs.
 *
 * @param topics the commands, for the help
 */
export async function runCommand(
  argv: readonly string[],
  io: CommandIo,
  topics: () => Promise<readonly CommandTopic[]>,
): Promise<number> {
  const parsed = parseRun(argv);
  switch (parsed.kind) {
    case 'help':
      io.stdout.write(helpWith(await topics()));
      return 0;
    case 'version':
      io.stdout.write(`weir ${VERSION}\n`);
      if (parsed.verbose) io.stdout.write((await import('../surroundings.ts')).howItRuns());
      return 0;
    case 'check':
      return (await import('../check.ts')).check(parsed.config, io, IMPORTABLE);
    case 'run':
      return (await import('./run.ts')).run({ ...parsed, importable: IMPORTABLE });
    default:
      return parsed satisfies never;
  }
}
