import { HELP_OPTION, unknownCommand, type Command, type CommandSpec } from './command.ts';
import { CLASH_API } from './clash-api/arguments.ts';
import { COMPLETION } from './completion/arguments.ts';
import { CTL } from './ctl/arguments.ts';
import { DASHBOARD } from './dashboard/arguments.ts';
import { DRAIN } from './control/drain-arguments.ts';
import { DIAGNOSE } from './diagnose/arguments.ts';
import { EXPLAIN } from './explain/arguments.ts';
import { FETCH } from './fetch/arguments.ts';
import { GENERATE } from './generate/arguments.ts';
import { GEO } from './geo/arguments.ts';
import { IMPORT } from './import/arguments.ts';
import { LOG } from './control/log-arguments.ts';
import { LOG_LEVEL } from './control/log-level-arguments.ts';
import { METRICS } from './metrics/arguments.ts';
import { RELOAD } from './control/reload-arguments.ts';
import { PROBE } from './probe/arguments.ts';
import { CONFIG_OPTION, RUN_OPTIONS } from './run/arguments.ts';
import { STATUS } from './control/status-arguments.ts';
import { SHARE } from './share/arguments.ts';
import { TOP } from './top/arguments.ts';
import { TUN } from './tun/arguments.ts';
import { FORMAT } from './format/arguments.ts';
import { SHOW } from './show/arguments.ts';
import { USER } from './user/arguments.ts';
import { SUBSCRIBE } from './subscribe/arguments.ts';

/** The default command. Each command imports its implementation when it runs. */
const RUN: Command = {
  name: 'run',
  operands: '',
  summary: 'serve until a signal stops it (the default)',
  options: RUN_OPTIONS,
  run: async (argv, io) =>
    (await import('./run/command.ts')).runCommand(argv, io, async () => TOPICS),
};

const CHECK: Command = {
  name: 'check',
  operands: '',
  summary: 'check the configuration, as --test does',
  options: { ...CONFIG_OPTION, ...HELP_OPTION },
  run: (argv, io) => RUN.run(['--test', ...argv], io),
};

const SCHEMA: CommandSpec = {
  name: 'schema',
  operands: '',
  summary: 'print a JSON Schema of the configuration file, for editors',
  options: HELP_OPTION,
};

const VERSION: Command = {
  name: 'version',
  operands: '',
  summary: 'print the version',
  options: { verbose: RUN_OPTIONS.verbose, ...HELP_OPTION },
  run: (argv, io) => RUN.run(['--version', ...argv], io),
};

const HELP: Command = {
  name: 'help',
  operands: '[COMMAND]',
  summary: 'print the help of a command, or this text',
  options: HELP_OPTION,
  run: ([name, ...rest], io) => {
    if (name === undefined || name.startsWith('-')) return RUN.run(['--help'], io);
    const [command] = chooseCommand([name]);
    return command.run(['--help', ...rest], io);
  },
};

/** A topic of the help: commands for one task. */
export interface Topic {
  readonly title: string;
  readonly commands: readonly Command[];
}

export const TOPICS: readonly Topic[] = [
  { title: 'Run', commands: [RUN, CHECK, VERSION, HELP] },
  {
    title: 'A running Weir',
    commands: [
      { ...CTL, run: async (argv, io) => (await import('./ctl/ctl.ts')).ctl(argv, io) },
      {
        ...RELOAD,
        run: async (argv, io) =>
          (await import('./control/reload-command.ts')).reloadCommand(argv, io),
      },
      {
        ...DRAIN,
        run: async (argv, io) =>
          (await import('./control/drain-command.ts')).drainCommand(argv, io),
      },
      {
        ...STATUS,
        run: async (argv, io) =>
          (await import('./control/status-command.ts')).statusCommand(argv, io),
      },
      {
        ...LOG,
        run: async (argv, io) => (await import('./control/log-command.ts')).logCommand(argv, io),
      },
      {
        ...LOG_LEVEL,
        run: async (argv, io) =>
          (await import('./control/log-level-command.ts')).logLevelCommand(argv, io),
      },
    ],
  },
  {
    title: 'See and steer',
    commands: [
      {
        ...DASHBOARD,
        run: async (argv, io) =>
          (await import('./dashboard/command.ts')).dashboardCommand(argv, io),
      },
      { ...TOP, run: async (argv, io) => (await import('./top/command.ts')).topCommand(argv, io) },
      {
        ...METRICS,
        run: async (argv, io) => (await import('./metrics/command.ts')).metricsCommand(argv, io),
      },
      {
        ...CLASH_API,
        run: async (argv, io) => (await import('./clash-api/command.ts')).clashApiCommand(argv, io),
      },
      {
        ...DIAGNOSE,
        run: async (argv, io) => (await import('./diagnose/command.ts')).diagnoseCommand(argv, io),
      },
    ],
  },
  {
    title: 'Nodes',
    commands: [
      {
        ...IMPORT,
        run: async (argv, io) => (await import('./import/command.ts')).importCommand(argv, io),
      },
      {
        ...SUBSCRIBE,
        run: async (argv, io) =>
          (await import('./subscribe/command.ts')).subscribeCommand(argv, io),
      },
      {
        ...PROBE,
        run: async (argv, io) => (await import('./probe/command.ts')).probeCommand(argv, io),
      },
      {
        ...FETCH,
        run: async (argv, io) => (await import('./fetch/command.ts')).fetchCommand(argv, io),
      },
    ],
  },
  {
    title: 'Users',
    commands: [
      {
        ...USER,
        run: async (argv, io) => (await import('./user/command.ts')).userCommand(argv, io),
      },
      {
        ...GENERATE,
        run: async (argv, io) => (await import('./generate/command.ts')).generateCommand(argv, io),
      },
      {
        ...SHARE,
        run: async (argv, io) => (await import('./share/command.ts')).shareCommand(argv, io),
      },
    ],
  },
  {
    title: 'The configuration file',
    commands: [
      {
        ...SHOW,
        run: async (argv, io) => (await import('./show/command.ts')).showCommand(argv, io),
      },
      {
        ...FORMAT,
        run: async (argv, io) => (await import('./format/command.ts')).formatCommand(argv, io),
      },
      {
        ...EXPLAIN,
        run: async (argv, io) => (await import('./explain/command.ts')).explainCommand(argv, io),
      },
      { ...GEO, run: async (argv, io) => (await import('./geo/command.ts')).geoCommand(argv, io) },
      {
        ...SCHEMA,
        run: async (argv, io) => (await import('./schema-command.ts')).schemaCommand(argv, io),
      },
    ],
  },
  {
    title: 'This machine',
    commands: [
      { ...TUN, run: async (argv, io) => (await import('./tun/command.ts')).tunCommand(argv, io) },
    ],
  },
  {
    title: 'The shell',
    commands: [
      {
        ...COMPLETION,
        run: async (argv, io) =>
          (await import('./completion/command.ts')).completionCommand(argv, io, COMMANDS),
      },
    ],
  },
];

/** All commands; the first is the default. */
export const COMMANDS: readonly Command[] = TOPICS.flatMap(({ commands }) => commands);

/**
 * Chooses the command of a command line, and returns it with its arguments.
 * @throws {UsageError} for an unknown command
 */
export function chooseCommand(argv: readonly string[]): [Command, readonly string[]] {
  const [first, ...rest] = argv;
  const command = COMMANDS.find(({ name }) => name === first);
  if (command) return [command, rest];
  if (first !== undefined && !first.startsWith('-')) throw unknownCommand(first, COMMANDS);
  return [RUN, argv];
}
