import { loadConfigFile } from '@weir/server/loading';
import { printableJson } from '@weir/base/printable';
import type { Spec } from '@weir/proxy/spec';
import {
  reportErrors,
  type CommandIo,
  chooseSubcommand,
  expectOperands,
  HELP_OPTION,
  parseOptions,
} from '../command.ts';
import { loadOrReport } from '../load.ts';
import { checkTun, tunCheckText, unreadText } from './check-report.ts';
import { UsageError } from '@weir/base';
import { commandLines, optionLines } from '../help.ts';
import { TUN, CHECK_OPTIONS } from '../specs.ts';

const TUN_HELP = `weir tun, the machine that a tun inbound is to work on

Usage: weir tun COMMAND [options]

Commands:
${commandLines(TUN.commands)}
check reads routes, rules, the firewall and the resolver of this machine (Linux) and changes
nothing. It needs no root, but reads less without it, and says what. The exit status is 1 when
something breaks.

Options:
${optionLines({ ...CHECK_OPTIONS, ...HELP_OPTION })}`;

interface TunCheckArguments {
  readonly kind: 'check';
  readonly config: string | undefined;
  readonly isGateway: boolean;
  readonly json: boolean;
}

/** Parses the arguments of `weir tun`. @throws {UsageError} for invalid arguments */
export function parseTun(argv: readonly string[]): TunCheckArguments | { readonly kind: 'help' } {
  const parsed = parseOptions(argv, { ...CHECK_OPTIONS, ...HELP_OPTION });
  const { values } = parsed;
  if (values.help === true) return { kind: 'help' };
  const { chosen, operands } = chooseSubcommand(TUN, parsed);
  expectOperands(`tun ${chosen.name}`, operands);
  const { config, gateway = false, json = false } = values;
  if (config === '') throw new UsageError('--config needs the name of a file');
  return { kind: chosen.name, config, isGateway: gateway, json };
}

/**
 * `weir tun`. Resolves with the exit status: 1 if something breaks, or the machine could not be checked.
 * @throws {UsageError}
 */
export async function tunCommand(argv: readonly string[], io: CommandIo): Promise<number> {
  const asked = parseTun(argv);
  if (asked.kind === 'help') {
    io.stdout.write(TUN_HELP);
    return 0;
  }
  return reportErrors('tun check', io, async () => {
    const status = await loadOrReport(
      asked.config,
      {},
      (path, input) => loadConfigFile(path, { ...input, serveApi: false }),
      ({ spec }) => check(spec, asked, io),
    );
    return status ?? 1;
  });
}

async function check(spec: Spec, asked: TunCheckArguments, io: CommandIo): Promise<number> {
  const report = await checkTun(spec, asked.isGateway, io.env);
  io.stdout.write(asked.json ? `${printableJson(report)}\n` : tunCheckText(report));
  if (!asked.json) io.stderr.write(unreadText(report.unread));
  const all = report.inbounds.flatMap(({ findings }) => findings);
  return all.some(({ severity }) => severity === 'breaks') ? 1 : 0;
}
