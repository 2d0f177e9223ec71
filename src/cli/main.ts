import { UsageError } from './command.ts';
import { chooseCommand } from './commands.ts';

/** Runs a command line; resolves with the exit status when the process should end. */
export async function main(argv: readonly string[]): Promise<number> {
  let help = '--help';
  try {
    const [command, rest] = chooseCommand(argv);
    if (command.name !== 'run') help = `${command.name} --help`;
    return await command.run(rest, process);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    process.stderr.write(`weir: ${error.message}\nTry 'weir ${help}'.\n`);
    return 2;
  }
}
