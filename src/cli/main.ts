import { UsageError } from '../errors.ts';
import type { CommandTopic } from './help.ts';
import { runCommand } from './run/command.ts';

/** Runs a command line; resolves with the exit status when the process should end. */
export async function main(argv: readonly string[]): Promise<number> {
  let help = '--help';
  try {
    if (isRun(argv)) return await runCommand(argv, loadTopics);
    const [command, rest] = (await import('./commands.ts')).chooseCommand(argv);
    help = `${command.name} --help`;
    return await command.run(rest, process);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    process.stderr.write(`weir: ${error.message}\nTry 'weir ${help}'.\n`);
    return 2;
  }
}

/** Whether it is the default command, for which the tables of the others are not loaded. */
const isRun = ([first]: readonly string[]): boolean =>
  first === undefined || first.startsWith('-') || first === 'run';

const loadTopics = async (): Promise<readonly CommandTopic[]> =>
  (await import('./commands.ts')).TOPICS;
