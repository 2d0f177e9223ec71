import { HELP_OPTION, unknownCommand, type Command } from './command.ts';
import { COMPLETION } from './completion/arguments.ts';
import { CTL } from './ctl/arguments.ts';
import { EXPLAIN } from './explain/arguments.ts';
import { IMPORT } from './import/arguments.ts';
import { LOG_LEVEL } from './control/log-level-arguments.ts';
import { RELOAD } from './control/reload-arguments.ts';
import { CONFIG_OPTION, RUN_OPTIONS } from './run/arguments.ts';

/** The default command. Each command imports its implementation when it runs. */
const RUN: Command = {
  name: 'run',
  operands: '',
  summary: 'serve until a signal stops it (the default)',
  options: RUN_OPTIONS,
  run: async (argv) => (await import('./run/command.ts')).runCommand(argv, COMMANDS),
};

/** Commands that other programs have, with options of the same meaning. */
const ALIASES: readonly Command[] = [
  {
    name: 'check',
    operands: '',
    summary: 'check the configuration, as --test does',
    options: { ...CONFIG_OPTION, ...HELP_OPTION },
    run: (argv, io) => RUN.run(['--test', ...argv], io),
  },
  {
    name: 'version',
    operands: '',
    summary: 'print the version',
    options: { verbose: RUN_OPTIONS.verbose, ...HELP_OPTION },
    run: (argv, io) => RUN.run(['--version', ...argv], io),
  },
  {
    name: 'help',
    operands: '[COMMAND]',
    summary: 'print the help of a command, or this text',
    options: HELP_OPTION,
    run: ([name, ...rest], io) => {
      if (name === undefined || name.startsWith('-')) return RUN.run(['--help'], io);
      const [command] = chooseCommand([name]);
      return command.run(['--help', ...rest], io);
    },
  },
];

export const COMMANDS: readonly Command[] = [
  RUN,
  {
    ...CTL,
    run: async (argv, io) => (await import('./ctl/ctl.ts')).ctl(argv, io),
  },
  {
    ...RELOAD,
    run: async (argv, io) => (await import('./control/reload-command.ts')).reloadCommand(argv, io),
  },
  {
    ...LOG_LEVEL,
    run: async (argv, io) =>
      (await import('./control/log-level-command.ts')).logLevelCommand(argv, io),
  },
  {
    ...EXPLAIN,
    run: async (argv, io) => (await import('./explain/command.ts')).explainCommand(argv, io),
  },
  {
    ...IMPORT,
    run: async (argv, io) => (await import('./import/command.ts')).importCommand(argv, io),
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
      (await import('./completion/command.ts')).completionCommand(argv, io, COMMANDS),
  },
  ...ALIASES,
];

/**
 * The command of a command line, and its arguments.
 * @throws {UsageError} for an unknown command.
 */
export function chooseCommand(argv: readonly string[]): [Command, readonly string[]] {
  const [first, ...rest] = argv;
  const command = COMMANDS.find(({ name }) => name === first);
  if (command) return [command, rest];
  if (first !== undefined && !first.startsWith('-')) throw unknownCommand(first, COMMANDS);
  return [RUN, argv];
}
