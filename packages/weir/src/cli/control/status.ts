import { requestStatus, type LastReload, type RunningStatus } from '@weir/server/control';
import { printableJson, printable } from '@weir/base/printable';
import { commandOf, optionLines, parserOf } from '../command.ts';
import { needServing } from '@weir/client';
import { STATUS } from './specs.ts';
import { whichOf } from '../running-options.ts';
import { outcomeLine } from '@weir/server/app/outcomes';
import { buildText } from '@weir/io/process';
import { drainText } from '@weir/server/supervisor/reload-report';
import { age, bytes, counted, day, isNearlyFull, milliseconds } from '@weir/base/text/amounts';
import { textTable } from '@weir/base/tables';

const STATUS_HELP = `weir status, which prints the state of a running Weir

Usage: weir status [options]

Options:
${optionLines(STATUS.options)}The delay of the event loop is measured from the first request on.
`;

const parseStatus = parserOf(STATUS, (values) => ({
  json: values.json ?? false,
  ...whichOf(values),
}));

/**
 * `weir status`: the state of a running Weir. Resolves with the exit status: 1 if none responds.
 * @throws {UsageError}
 */
export const statusCommand = commandOf(
  STATUS.name,
  STATUS_HELP,
  parseStatus,
  async ({ socket, config, json }, io) => {
    const status = await requestStatus(await needServing({ socket, config, env: io.env }));
    const text = json ? `${printableJson(status)}\n` : statusText(status, Date.now());
    io.stdout.write(text);
    return 0;
  },
);

/** Formats the state of a running Weir for users. @param now Unix milliseconds */
function statusText(status: RunningStatus, now: number): string {
  const parts = [
    `${headLines(status, now).map(printable).join('\n')}\n`,
    textTable(
      ['INBOUND', 'PROTOCOL', 'ADDRESS', 'SESSIONS', 'FLOWS'],
      status.inbounds.map(({ tag, protocol, address, sessions, flows }) => [
        tag,
        protocol,
        address,
        sessions,
        flows,
      ]),
    ),
    balancersText(status, now),
    textTable(
      ['LIMIT', 'USED', 'OF'],
      status.limits.map(({ name, used, limit }) => [
        isNearlyFull(used, limit) ? `${name} (nearly full)` : name,
        used,
        limit,
      ]),
    ),
    accountsText(status),
  ];
  return parts.filter((part) => part !== '').join('\n');
}

function headLines(status: RunningStatus, now: number): string[] {
  const build = status.build ? ` (${buildText(status.build)})` : '';
  const { memory, event_loop: loop, missed, sockets } = status;
  const io = sockets.kind === 'kernel' ? "the kernel's" : `those of Node (${sockets.reason ?? ''})`;
  return [
    `weir ${status.version}${build}, pid ${status.pid}, up ${age(now - status.started_at)}; node ${status.node}, sockets: ${io}`,
    `configuration: ${status.config ?? 'built-in'}`,
    `api: ${status.api ?? 'off'}`,
    `sessions: ${status.sessions}, flows: ${status.flows}`,
    ...limitsLines(status),
    ...drainLines(status, now),
    `memory: ${bytes(memory.resident)} resident, heap ${bytes(memory.heap_used)} of ${bytes(memory.heap_total)}, ${bytes(memory.external)} outside of it`,
    loop === null
      ? 'event loop: not measured yet; ask again'
      : `event loop delay: p50 ${milliseconds(loop.p50)}, p99 ${milliseconds(loop.p99)}, max ${milliseconds(loop.max)} in ${age(now - loop.since)}`,
    ...(missed.events + missed.log_lines === 0
      ? []
      : [`missed: ${missed.events} flow events by slow clients, ${missed.log_lines} log lines`]),
    ...reloadLines(status.last_reload, now),
  ];
}

function limitsLines({
  account_limits: limits,
  flows_limited: refused = 0,
}: RunningStatus): string[] {
  if (!limits) return [];
  const reached = limits.reached.length + limits.more;
  return [
    `limits: ${counted(limits.accounts, 'account')}, ${reached} at a limit, ${counted(refused, 'flow')} refused`,
  ];
}

function drainLines({ drain }: RunningStatus, now: number): string[] {
  if (!drain) return [];
  const text = drainText({ ...drain, deviceFlows: drain.device_flows });
  return [`draining for ${age(now - drain.since)}: ${text}`];
}

function reloadLines(last: LastReload | null, now: number): string[] {
  if (!last) return ['last reload: none'];
  const { at, outcome, place } = last;
  const [line = '', ...others] = outcomeLine(outcome).split('\n');
  const where = place === null ? [] : [`  at ${place.file ?? ''}:${place.line}:${place.column}`];
  return [
    `last reload: ${age(now - at)} ago: ${line}`,
    // The line of a rejected reload includes its place.
    ...(others.length > 0 ? others : where),
  ];
}

/** The accounts that have reached a limit. */
function accountsText({ account_limits: limits }: RunningStatus): string {
  if (!limits || limits.reached.length === 0) return '';
  const rows = limits.reached.map(({ user, state, used, bytes: most, resets_at, until }) => [
    user,
    REACHED[state],
    bytes(used),
    most === null ? null : bytes(most),
    state === 'bytes' && resets_at !== null ? day(resets_at) : null,
    until === null ? null : day(until),
  ]);
  const table = textTable(['ACCOUNT', 'LIMIT', 'USED', 'OF', 'RESET', 'UNTIL'], rows);
  return limits.more === 0 ? table : `${table}and ${limits.more} more: weir user list\n`;
}

const REACHED = { open: '', bytes: 'bytes', until: 'expired', devices: 'devices' } as const;

function balancersText({ balancers }: RunningStatus, now: number): string {
  if (balancers.length === 0) return '';
  return textTable(
    ['BALANCER', 'STRATEGY', 'MEMBER', 'HEALTH', 'PROBED', 'ERROR'],
    balancers.flatMap(({ tag, strategy, members }) =>
      members.map(({ outbound, health, probed_at: probed, error }) => [
        tag,
        strategy,
        outbound,
        health,
        probed === null ? null : `${age(now - probed)} ago`,
        error,
      ]),
    ),
  );
}
