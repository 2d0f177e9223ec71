import { HELP_OPTION, unknownCommand, type Command, type CommandSpec } from './command.ts';
import { CLASH_API, DASHBOARD, DIAGNOSE, METRICS, TOP } from './watch/specs.ts';
import { COMPLETION, TUN } from './specs.ts';
import { CTL, DRAIN, LOG, LOG_LEVEL, RELOAD, STATUS } from './control/specs.ts';
import { EXPLAIN, GEO, FORMAT, SHOW } from './config/specs.ts';
import { FETCH, IMPORT, PROBE, SUBSCRIBE } from './nodes/specs.ts';
import { GENERATE, SHARE, USER } from './users/specs.ts';
import { CONFIG_OPTION, RUN_OPTIONS } from './run/arguments.ts';

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
      { ...CTL, run: async (argv, io) => (await import('./control/ctl.ts')).ctl(argv, io) },
      {
        ...RELOAD,
        run: async (argv, io) => (await import('./control/reload.ts')).reloadCommand(argv, io),
      },
      {
        ...DRAIN,
        run: async (argv, io) => (await import('./control/drain.ts')).drainCommand(argv, io),
      },
      {
        ...STATUS,
        run: async (argv, io) => (await import('./control/status.ts')).statusCommand(argv, io),
      },
      {
        ...LOG,
        run: async (argv, io) => (await import('./control/log.ts')).logCommand(argv, io),
      },
      {
        ...LOG_LEVEL,
        run: async (argv, io) => (await import('./control/log-level.ts')).logLevelCommand(argv, io),
      },
    ],
  },
  {
    title: 'See and steer',
    commands: [
      {
        ...DASHBOARD,
        run: async (argv, io) => (await import('./watch/dashboard.ts')).dashboardCommand(argv, io),
      },
      { ...TOP, run: async (argv, io) => (await import('./watch/top.ts')).topCommand(argv, io) },
      {
        ...METRICS,
        run: async (argv, io) => (await import('./watch/metrics.ts')).metricsCommand(argv, io),
      },
      {
        ...CLASH_API,
        run: async (argv, io) => (await import('./watch/clash-api.ts')).clashApiCommand(argv, io),
      },
      {
        ...DIAGNOSE,
        run: async (argv, io) => (await import('./watch/diagnose.ts')).diagnoseCommand(argv, io),
      },
    ],
  },
  {
    title: 'Nodes',
    commands: [
      {
        ...IMPORT,
        run: async (argv, io) => (await import('./nodes/import.ts')).importCommand(argv, io),
      },
      {
        ...SUBSCRIBE,
        run: async (argv, io) => (await import('./nodes/subscribe.ts')).subscribeCommand(argv, io),
      },
      {
        ...PROBE,
        run: async (argv, io) => (await import('./nodes/probe.ts')).probeCommand(argv, io),
      },
      {
        ...FETCH,
        run: async (argv, io) => (await import('./nodes/fetch.ts')).fetchCommand(argv, io),
      },
    ],
  },
  {
    title: 'Users',
    commands: [
      {
        ...USER,
        run: async (argv, io) => (await import('./users/user.ts')).userCommand(argv, io),
      },
      {
        ...GENERATE,
        run: async (argv, io) => (await import('./users/generate.ts')).generateCommand(argv, io),
      },
      {
        ...SHARE,
        run: async (argv, io) => (await import('./users/share.ts')).shareCommand(argv, io),
      },
    ],
  },
  {
    title: 'The configuration file',
    commands: [
      {
        ...SHOW,
        run: async (argv, io) => (await import('./config/show.ts')).showCommand(argv, io),
      },
      {
        ...FORMAT,
        run: async (argv, io) => (await import('./config/format.ts')).formatCommand(argv, io),
      },
      {
        ...EXPLAIN,
        run: async (argv, io) => (await import('./config/explain.ts')).explainCommand(argv, io),
      },
      { ...GEO, run: async (argv, io) => (await import('./config/geo.ts')).geoCommand(argv, io) },
      {
        ...SCHEMA,
        run: async (argv, io) => (await import('./config/schema.ts')).schemaCommand(argv, io),
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
