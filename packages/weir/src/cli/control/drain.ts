import { setTimeout as sleep } from 'node:timers/promises';
import { requestDrain, type DrainReport } from '@weir/server/control';
import { WeirError, UsageError } from '@weir/base';
import { drainText } from '@weir/server/supervisor/reload-report';
import { commandOf, type CommandIo, optionLines, parserOf } from '../command.ts';
import { needServing } from '@weir/client';
import { DRAIN } from './specs.ts';
import { parseDuration } from '../option-values.ts';
import { whichOf } from '../running-options.ts';

const DRAIN_HELP = `weir drain, after which a running Weir can be stopped without cutting flows

Usage: weir drain [options]

Its inbounds accept no clients, as from a stop on, but no flow is ended: they have as long as they
take. The API and the control socket go on. What is left is printed when it changes. The exit status
is 0 once nothing is left, and 1 when something is after --wait. The drain goes on when this command
ends, and the running configuration stays as it is until --undo or a stop.

Options:
${optionLines(DRAIN.options)}A tun inbound goes on serving until the stop, which ends its flows.
`;

export const parseDrain = parserOf(DRAIN, (values) => {
  const { wait, undo = false, json = false } = values;
  if (undo && wait !== undefined) throw new UsageError('--undo waits for nothing');
  const waitMs = wait === undefined ? Infinity : parseDuration('--wait', wait) * 1000;
  return { waitMs, undo, json, ...whichOf(values) };
});

type DrainArguments = NonNullable<ReturnType<typeof parseDrain>>;

/** Milliseconds between two requests for the state of the drain. */
const LOOK_MS = 250;
/** Minimum milliseconds between two lines of output. */
const LINE_MS = 2_000;

/**
 * `weir drain`. Resolves with the exit status: 1 if clients are left, or listeners could not be reopened.
 * @throws {UsageError}
 */
export const drainCommand = commandOf(DRAIN.name, DRAIN_HELP, parseDrain, async (parsed, io) => {
  const path = await needServing({ ...parsed, env: io.env });
  if (parsed.undo) {
    write(await requestDrain(path, 'undo'), parsed, io);
    return 0;
  }
  return wait(path, parsed, io);
});

/** Follows a drain to its end, or until the time to wait is over. */
async function wait(path: string, parsed: DrainArguments, io: CommandIo): Promise<number> {
  const until = performance.now() + parsed.waitMs;
  let status = await requestDrain(path, 'begin');
  let written = status;
  let lineAt = performance.now();
  write(status, parsed, io);
  while (!isOver(status)) {
    const left = until - performance.now();
    if (left <= 0) {
      if (hasChanged(written, status)) write(status, parsed, io);
      return 1;
    }
    await sleep(Math.min(LOOK_MS, left));
    status = await requestDrain(path, 'show');
    if (status.since === null) throw new WeirError('taken_back', 'the drain was taken back');
    const isDue = isOver(status) || performance.now() - lineAt >= LINE_MS;
    if (!isDue || !hasChanged(written, status)) continue;
    write(status, parsed, io);
    written = status;
    lineAt = performance.now();
  }
  return 0;
}

const isOver = ({ flows, sessions, handshakes }: DrainReport): boolean =>
  flows + sessions + handshakes === 0;

const hasChanged = (before: DrainReport, now: DrainReport): boolean =>
  before.flows !== now.flows ||
  before.sessions !== now.sessions ||
  before.handshakes !== now.handshakes;

function write(status: DrainReport, { json }: DrainArguments, { stdout }: CommandIo): void {
  if (json) {
    const { kind: _, ...fields } = status;
    stdout.write(`${JSON.stringify(fields)}\n`);
  } else if (status.since === null) {
    stdout.write('the inbounds accept clients\n');
  } else {
    stdout.write(`${drainText({ ...status, deviceFlows: status.device_flows })}\n`);
  }
}
