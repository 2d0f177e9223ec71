import { WeirError } from '@weir/base';
import { printable, printableJson } from '@weir/base/printable';
import type { TunSettings } from '@weir/proxy/protocols';
import type { Spec } from '@weir/proxy/spec';
import {
  commandLines,
  commandOf,
  type CommandIo,
  HELP_OPTION,
  optionLines,
  subcommandParser,
} from '../command.ts';
import {
  type AdviceStep,
  type CheckedInbound,
  type TunFinding,
  type Unread,
  type MachineFacts,
  type Severity,
  Machine,
} from './check/machine.ts';
import { readMachine } from './machine/read-machine.ts';
import { deviceFindings } from './check/device-findings.ts';
import { forwardFindings } from './check/forward-findings.ts';
import { resolverFindings } from './check/resolver-findings.ts';
import { routeFindings } from './check/route-findings.ts';
import { loadConfigFile } from '@weir/server/loading';
import { loadOrReport } from '../load.ts';
import { TUN, CHECK_OPTIONS } from './specs.ts';

/** The JSON of `weir tun check`. */
interface TunCheckReport {
  readonly inbounds: readonly { readonly tag: string; readonly findings: readonly TunFinding[] }[];
  /** Facts that could not be read. */
  readonly unread: readonly Unread[];
}

/**
 * Checks this machine for the `tun` inbounds of a configuration.
 * @throws {WeirError} where that is not possible, and without such an inbound
 */
export async function checkTun(
  spec: Spec,
  isGateway: boolean,
  env: CommandIo['env'],
): Promise<TunCheckReport> {
  if (process.platform !== 'linux') {
    throw new WeirError('not_linux', 'only Linux machines can be checked');
  }
  const inbounds = checkedInbounds(spec, isGateway);
  if (inbounds.length === 0) {
    throw new WeirError('no_tun_inbound', 'the configuration has no tun inbound', {
      hint: 'name the file with --config FILE; without that the built-in configuration is checked',
    });
  }
  const facts = await readMachine(inbounds, env);
  return {
    inbounds: inbounds.map((inbound) => ({
      tag: inbound.tag,
      findings: findingsOf(facts, inbound),
    })),
    unread: facts.unread,
  };
}

function checkedInbounds({ inbounds, dns }: Spec, isGateway: boolean): readonly CheckedInbound[] {
  return inbounds
    .filter(({ protocol }) => protocol === 'tun')
    .map(({ tag, settings }) => {
      // `tunSettings` has created the settings of this protocol.
      const { name, mtu, addresses, routes } = settings as TunSettings;
      return { tag, name, mtu, addresses, routes, dns, isGateway };
    });
}

/** Formats the findings for users. */
export function tunCheckText({ inbounds }: TunCheckReport): string {
  return inbounds.map(({ tag, findings }) => inboundText(tag, findings)).join('\n');
}

function inboundText(tag: string, findings: readonly TunFinding[]): string {
  const count = (severity: TunFinding['severity']): number =>
    findings.filter((each) => each.severity === severity).length;
  const head = `inbound ${printable(tag)}: ${count('breaks')} break, ${count('leaks')} leak, ${count('note')} to note\n`;
  return head + findings.map(findingText).join('');
}

/** Introductions to the steps of an advice. */
const HEADS: Readonly<Record<AdviceStep['kind'], string | undefined>> = {
  sh: 'run:',
  toml: 'configure:',
  text: undefined,
};

function findingText({ id, severity, evidence, consequence, advice }: TunFinding): string {
  const lines = ['', `${severity}  ${id}`, `  ${consequence}`];
  lines.push(...evidence.map((each) => `  read: ${each}`));
  let last: AdviceStep['kind'] | undefined;
  for (const { kind, text } of advice) {
    const head = HEADS[kind];
    if (head !== undefined && kind !== last) lines.push(`  ${head}`);
    last = kind;
    lines.push(
      ...text.split('\n').map((line) => (head === undefined ? `  ${line}` : `    ${line}`)),
    );
  }
  return lines.map((line) => `${printable(line)}\n`).join('');
}

/** Formats the facts that could not be read, for users. */
export const unreadText = (unread: readonly Unread[]): string =>
  unread.map(({ what, reason }) => `not read: ${printable(`${what}: ${reason}`)}\n`).join('');

/** Order of severities in a report. */
const ORDER: Readonly<Record<Severity, number>> = { breaks: 0, leaks: 1, note: 2 };

/** Findings about a TUN inbound on a machine, the most severe first. */
export function findingsOf(facts: MachineFacts, inbound: CheckedInbound): readonly TunFinding[] {
  const machine = new Machine(facts, inbound);
  return [
    ...deviceFindings(machine),
    ...routeFindings(machine),
    ...forwardFindings(machine),
    ...resolverFindings(machine),
  ].sort((one, other) => ORDER[one.severity] - ORDER[other.severity]);
}

const TUN_HELP = `weir tun, the machine that a tun inbound is to work on

Usage: weir tun COMMAND [options]

Commands:
${commandLines(TUN.commands)}
check reads routes, rules, the firewall and the resolver of this machine (Linux) and changes
nothing. It needs no root, but reads less without it, and says what. The exit status is 1 when
something breaks.

Options:
${optionLines({ ...CHECK_OPTIONS, ...HELP_OPTION })}`;

const parseTun = subcommandParser(TUN, (_, values) => {
  const { config, gateway = false, json = false } = values;
  return { config, isGateway: gateway, json };
});

type TunCheckArguments = NonNullable<ReturnType<typeof parseTun>>;

/**
 * `weir tun`. Resolves with the exit status: 1 if something breaks, or the machine could not be checked.
 * @throws {UsageError}
 */
export const tunCommand = commandOf('tun check', TUN_HELP, parseTun, async (asked, io) => {
  const status = await loadOrReport(asked.config, async (path, input) => {
    const { spec } = await loadConfigFile(path, { ...input, serveApi: false });
    return check(spec, asked, io);
  });
  return status ?? 1;
});

async function check(spec: Spec, asked: TunCheckArguments, io: CommandIo): Promise<number> {
  const report = await checkTun(spec, asked.isGateway, io.env);
  io.stdout.write(asked.json ? `${printableJson(report)}\n` : tunCheckText(report));
  if (!asked.json) io.stderr.write(unreadText(report.unread));
  const all = report.inbounds.flatMap(({ findings }) => findings);
  return all.some(({ severity }) => severity === 'breaks') ? 1 : 0;
}
