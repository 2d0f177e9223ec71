import { VERSION } from '../version.ts';
import { HELP, UsageError, parseCommand, type Command } from './arguments.ts';
import { check } from './check.ts';
import { ctl } from './ctl.ts';
import { run } from './run.ts';
import { howItRuns } from './surroundings.ts';

/** Carries out a command line; resolves with the exit status when the process should end. */
export async function main(argv: readonly string[]): Promise<number> {
  let command: Command;
  const isCtl = argv[0] === 'ctl';
  try {
    if (isCtl) return await ctl(argv.slice(1), process);
    command = parseCommand(argv);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    process.stderr.write(`weir: ${error.message}\nTry 'weir ${isCtl ? 'ctl ' : ''}--help'.\n`);
    return 2;
  }
  switch (command.kind) {
    case 'help':
      process.stdout.write(HELP);
      return 0;
    case 'version':
      process.stdout.write(`weir ${VERSION}\n${command.verbose ? howItRuns() : ''}`);
      return 0;
    case 'check':
      return check(command.config);
    case 'run':
      return run(command);
    default:
      return command satisfies never;
  }
}
