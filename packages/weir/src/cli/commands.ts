import {
  HELP_OPTION,
  unknownCommand,
  type Command,
  type CommandSpec,
  type Implementation,
} from './command.ts';
import { CLASH_API, DASHBOARD, DIAGNOSE, METRICS, TOP } from './watch/specs.ts';
import { COMPLETION } from './completion/specs.ts';
import { EXPLAIN, FORMAT, GEO, SCHEMA, SHOW } from './config/specs.ts';
import { CTL, DRAIN, LOG, LOG_LEVEL, RELOAD, STATUS } from './control/specs.ts';
import { FETCH, IMPORT, PROBE, SUBSCRIBE } from './nodes/specs.ts';
import { GENERATE, LINKS, SHARE, USER } from './users/specs.ts';
import { CONFIG_OPTION, RUN_OPTIONS } from './run/command.ts';
import { TUN } from './tun/specs.ts';
import { USAGE } from './usage/specs.ts';

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

/** A command whose implementation is imported when it runs. */
const onDemand = (spec: CommandSpec, load: () => Promise<Implementation>): Command => ({
  ...spec,
  load,
  run: async (argv, io) => (await load())(argv, io),
});

/** A topic of the help: commands for one task. */
interface Topic {
  readonly title: string;
  readonly commands: readonly Command[];
}

export const TOPICS: readonly Topic[] = [
  { title: 'Run', commands: [RUN, CHECK, VERSION, HELP] },
  {
    title: 'A running Weir',
    commands: [
      onDemand(CTL, async () => (await import('./control/ctl.ts')).ctl),
      onDemand(RELOAD, async () => (await import('./control/reload.ts')).reloadCommand),
      onDemand(DRAIN, async () => (await import('./control/drain.ts')).drainCommand),
      onDemand(STATUS, async () => (await import('./control/status.ts')).statusCommand),
      onDemand(LOG, async () => (await import('./control/log.ts')).logCommand),
      onDemand(LOG_LEVEL, async () => (await import('./control/log-level.ts')).logLevelCommand),
    ],
  },
  {
    title: 'See and steer',
    commands: [
      onDemand(DASHBOARD, async () => (await import('./watch/dashboard.ts')).dashboardCommand),
      onDemand(TOP, async () => (await import('./watch/top.ts')).topCommand),
      onDemand(METRICS, async () => (await import('./watch/metrics.ts')).metricsCommand),
      onDemand(CLASH_API, async () => (await import('./watch/clash-api.ts')).clashApiCommand),
      onDemand(DIAGNOSE, async () => (await import('./watch/diagnose.ts')).diagnoseCommand),
    ],
  },
  {
    title: 'Nodes',
    commands: [
      onDemand(IMPORT, async () => (await import('./nodes/import.ts')).importCommand),
      onDemand(SUBSCRIBE, async () => (await import('./nodes/subscribe.ts')).subscribeCommand),
      onDemand(PROBE, async () => (await import('./nodes/probe.ts')).probeCommand),
      onDemand(FETCH, async () => (await import('./nodes/fetch.ts')).fetchCommand),
    ],
  },
  {
    title: 'Users',
    commands: [
      onDemand(USER, async () => (await import('./users/user.ts')).userCommand),
      onDemand(GENERATE, async () => (await import('./users/generate.ts')).generateCommand),
      onDemand(SHARE, async () => (await import('./users/share.ts')).shareCommand),
      onDemand(LINKS, async () => (await import('./users/links.ts')).linksCommand),
      onDemand(USAGE, async () => (await import('./usage/usage.ts')).usageCommand),
    ],
  },
  {
    title: 'The configuration file',
    commands: [
      onDemand(SHOW, async () => (await import('./config/show.ts')).showCommand),
      onDemand(FORMAT, async () => (await import('./config/format.ts')).formatCommand),
      onDemand(EXPLAIN, async () => (await import('./config/explain.ts')).explainCommand),
      onDemand(GEO, async () => (await import('./config/geo.ts')).geoCommand),
      onDemand(SCHEMA, async () => (await import('./config/schema.ts')).schemaCommand),
    ],
  },
  {
    title: 'This machine',
    commands: [onDemand(TUN, async () => (await import('./tun/command.ts')).tunCommand)],
  },
  {
    title: 'The shell',
    commands: [
      onDemand(COMPLETION, async () =>
        (await import('./completion/command.ts')).completionCommand(COMMANDS),
      ),
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
