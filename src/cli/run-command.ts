import { VERSION } from '../version.ts';
import type { CommandSpec } from './command.ts';
import { helpWith, parseRun } from './run-arguments.ts';

/** `weir run`, and the options of `weir` that end at once. Each loads its own parts. */
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
      if (parsed.verbose) process.stdout.write((await import('./surroundings.ts')).howItRuns());
      return 0;
    case 'check':
      return (await import('./check.ts')).check(parsed.config);
    case 'run':
      return (await import('./run.ts')).run(parsed);
    default:
      return parsed satisfies never;
  }
}
