import { UsageError } from '../errors.ts';
import type { CommandIo } from './command.ts';
import type { CommandTopic } from './help.ts';
import { ProcessIo } from './process-io.ts';
import { runCommand } from './run/command.ts';

/** Runs a command line; resolves with the exit status when the process should end. */
export async function main(argv: readonly string[]): Promise<number> {
  const io = new ProcessIo();
  return io.finish(await carryOut(argv, io));
}

async function carryOut(argv: readonly string[], io: CommandIo): Promise<number> {
  let help = '--help';
  try {
    if (isRun(argv)) return await runCommand(argv, io, loadTopics);
    const [command, rest] = (await import('./commands.ts')).chooseCommand(argv);
    help = `${command.name} --help`;
    return await command.run(rest, io);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    io.stderr.write(`weir: ${error.message}\nTry 'weir ${help}'.\n`);
    return 2;
  }
}

/** Whether a command line is the default command, for which the tables of the others are not loaded. */
const isRun = ([first]: readonly string[]): boolean =>
  first === undefined || first.startsWith('-') || first === 'run';

const loadTopics = async (): Promise<readonly CommandTopic[]> =>
  (await import('./commands.ts')).TOPICS;
