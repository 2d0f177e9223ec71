import { HELP_OPTION, unknownCommand, type Command } from './command.ts';
import { COMPLETION } from './completion-arguments.ts';
import { CTL } from './ctl-arguments.ts';
import { EXPLAIN } from './explain-arguments.ts';
import { IMPORT } from './import-arguments.ts';
import { LOG_LEVEL } from './log-level-arguments.ts';
import { RELOAD } from './reload-arguments.ts';
import { RUN_OPTIONS } from './run-arguments.ts';

/** What runs when the first argument names no command. Each command loads its own parts. */
const RUN: Command = {
  name: 'run',
  operands: '',
  summary: 'serve until a signal stops it (the default)',
  options: RUN_OPTIONS,
  run: async (argv) => (await import('./run-command.ts')).runCommand(argv, COMMANDS),
};

export const COMMANDS: readonly Command[] = [
  RUN,
  {
    ...CTL,
    run: async (argv, io) => (await import('./ctl.ts')).ctl(argv, io),
  },
  {
    ...RELOAD,
    run: async (argv, io) => (await import('./reload-command.ts')).reloadCommand(argv, io),
  },
  {
    ...LOG_LEVEL,
    run: async (argv, io) => (await import('./log-level-command.ts')).logLevelCommand(argv, io),
  },
  {
    ...EXPLAIN,
    run: async (argv, io) => (await import('./explain-command.ts')).explainCommand(argv, io),
  },
  {
    ...IMPORT,
    run: async (argv, io) => (await import('./import-command.ts')).importCommand(argv, io),
  },
  {
    name: 'schema',
    operands: '',
    summary: 'print a JSON Schema of the configuration file, for editors',
    options: HELP_OPTION,
    run: async (argv, io) => (await import('./schema-command.ts')).schemaCommand(argv, io),
  },
  {
    ...COMPLETION,
    run: async (argv, io) =>
      (await import('./completion-command.ts')).completionCommand(argv, io, COMMANDS),
  },
];

/**
 * The command that a command line names, and its own arguments.
 * @throws {UsageError} when there is none of this name.
 */
export function chooseCommand(argv: readonly string[]): [Command, readonly string[]] {
  const [first, ...rest] = argv;
  const command = COMMANDS.find(({ name }) => name === first);
  if (command) return [command, rest];
  if (first !== undefined && !first.startsWith('-')) throw unknownCommand(first, COMMANDS);
  return [RUN, argv];
}
