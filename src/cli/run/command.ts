import { VERSION } from '../../version.ts';
import type { Importable } from '../../app/log/error-lines.ts';
import type { CommandSpec } from '../command.ts';
import { helpWith, parseRun } from './arguments.ts';

/**
 * `weir run`, and the options of `weir` that only print. Each imports its implementation when it
 * runs.
 */
export async function runCommand(
  argv: readonly string[],
  commands: readonly CommandSpec[],
): Promise<number> {
  const parsed = parseRun(argv);
  switch (parsed.kind) {
    case 'help':
      process.stdout.write(helpWith(commands));
      return 0;
    case 'version':
      process.stdout.write(`weir ${VERSION}\n`);
      if (parsed.verbose) process.stdout.write((await import('../surroundings.ts')).howItRuns());
      return 0;
    case 'check':
      return (await import('../check.ts')).check(parsed.config, importable(commands));
    case 'run':
      return (await import('./run.ts')).run({ ...parsed, importable: importable(commands) });
    default:
      return parsed satisfies never;
  }
}

/** The formats that `weir import` reads; none if there is no such command. */
const importable = (commands: readonly CommandSpec[]): Importable =>
  commands.some(({ name }) => name === 'import') ? ['json', 'yaml', 'links', 'wireguard'] : [];
