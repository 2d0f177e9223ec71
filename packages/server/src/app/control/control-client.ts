import type { Socket } from 'node:net';
import { codeOf, messageOf, WeirError } from '@weir/base';
import { printable } from '@weir/base/printable';
import { jsonIn } from '@weir/base/text/json';
import type { DialTimes } from '@weir/io';
import type { ReloadOutcome } from '../outcomes.ts';
import { linesOf, openFlow, readLine, type ControlCall } from './control-transport.ts';
import {
  problemOfCause,
  toDrainReport,
  toLoadedFiles,
  toLogEvent,
  toOutcome,
  toProfileResponse,
  toTunnelResponse,
  toUserFlows,
  type DrainAction,
  type DrainReport,
  type LoadedFiles,
  type LogEvent,
  type LogRequest,
  type ProcessProfile,
  type TunnelFailed,
  type TunnelOpened,
  type TunnelRequest,
  type UserFlowsRequest,
} from './messages.ts';
import {
  type AccountReport,
  type LimitsReport,
  type LimitsRequest,
  toLimitsReport,
} from './limits-report.ts';
import { toRunningStatus, type RunningStatus } from './running-status.ts';
import { UsageReader, type RunningUsage, type UsageRequest } from './usage-messages.ts';

/** The running Weir could not be reached, or sent no valid response. The outcome of the request is unknown. */
class ControlRequestError extends WeirError {
  constructor(what: string, path: string, reason: string, options?: ErrorOptions) {
    const hint = HINTS[codeOf(options?.cause) ?? ''];
    super('control_request', `no ${what} through ${path}: ${reason}`, {
      ...options,
      ...(hint !== undefined && { hint }),
    });
  }
}

const GONE =
  'no Weir serves this socket: without --socket and WEIR_SOCKET the one that runs is found';

/** Hints by the code of a failed connection. */
const HINTS: Readonly<Record<string, string>> = {
  EACCES:
    'only the user that runs Weir and root may connect: run the command as that user, or with sudo',
  ENOENT: GONE,
  ECONNREFUSED: GONE,
};

/** The running Weir could not open the flow; the message is its reason. */
export class TunnelError extends WeirError {
  /** Times of the dial's steps that were completed. */
  readonly times: DialTimes;

  constructor({ line, times }: TunnelFailed) {
    super('tunnel', printable(line));
    this.times = times;
  }
}

/** Maximum bytes of a response; the longest is a profile of half a minute. */
const MAX_RESPONSE = 16 << 20;

/** Maximum characters of a line of the log; the longest is an error's text with its place. */
const MAX_LOG_LINE = 4 << 20;

/** Time limit for `status` in milliseconds; its response is immediate. */
const STATUS_MS = 5_000;
/** Time limit for reading all files of a configuration, in milliseconds. */
const COMPARE_MS = 30_000;

/** Milliseconds that a profile takes beyond its recording. */
const PROFILE_MS = 15_000;

const NO_OUTCOME = 'the process gave no outcome';

const GAVE_NONE =
  'the process gave none: it has ended, or is an older Weir, which has no such request';

/**
 * Sends a request and reads its response.
 * @param read returns `undefined` for anything else, such as a failure with its reason
 */
async function ask<T>(
  path: string,
  call: ControlCall,
  what: string,
  read: (parsed: unknown) => T | undefined,
  signal?: AbortSignal,
): Promise<T> {
  const parsed = await request(path, call, what, signal);
  const response = read(parsed);
  if (response !== undefined) return response;
  const outcome = toOutcome(parsed);
  const reason = outcome?.kind === 'failed' ? printable(outcome.line) : GAVE_NONE;
  throw new ControlRequestError(what, path, reason);
}

/**
 * Requests a reload of the process that serves `path`, and waits for its outcome without a time limit.
 * @param cause written to the process's log before the reload: printable, at most 512 bytes
 * @throws {ControlRequestError}
 * @throws {WeirError} for an invalid cause
 */
export async function requestReload(path: string, cause?: string): Promise<ReloadOutcome> {
  const problem = cause === undefined ? undefined : problemOfCause(cause);
  if (problem !== undefined) throw new WeirError('reload_cause', problem);
  const line = cause === undefined ? 'reload' : `reload ${cause}`;
  const body = cause === undefined ? undefined : { cause };
  return requestOutcome(path, { method: 'POST', path: '/control/reload', body, line }, 'reload');
}

/**
 * Requests a change of the log filter of the process that serves `path`.
 * @throws {ControlRequestError} unless it has applied or rejected the filter
 */
export const requestLogFilter = (path: string, filter: string): Promise<ReloadOutcome> =>
  requestOutcome(
    path,
    { method: 'PUT', path: '/control/log-level', body: { filter }, line: `log-level ${filter}` },
    'change of the log level',
  );

/**
 * Requests the status of the process that serves `path`.
 * @param timeoutMs milliseconds until it counts as not responding
 * @throws {ControlRequestError}
 */
export function requestStatus(path: string, timeoutMs = STATUS_MS): Promise<RunningStatus> {
  const call = { method: 'GET', path: '/control/status', line: 'status' } as const;
  return ask(path, call, 'status', toRunningStatus, AbortSignal.timeout(timeoutMs));
}

const DRAIN_METHODS = { begin: 'POST', undo: 'DELETE', show: 'GET' } as const;

/**
 * Begins, undoes or shows a drain of the process that serves `path`. Waits without a time limit for a running reload.
 * @throws {ControlRequestError} also with the reason why listeners could not be reopened
 */
export function requestDrain(path: string, action: DrainAction): Promise<DrainReport> {
  const call = { path: '/control/drain', method: DRAIN_METHODS[action], line: `drain ${action}` };
  return ask(path, call, 'drain', toDrainReport);
}

/**
 * Counts or closes flows of users in the process that serves `path`.
 * @returns how many flows matched
 * @throws {ControlRequestError}
 */
export function requestUserFlows(path: string, asked: UserFlowsRequest): Promise<number> {
  const what = asked.close ? 'closing of flows' : 'count of flows';
  const call = posting('user-flows', asked);
  return ask(path, call, what, toUserFlows, AbortSignal.timeout(STATUS_MS));
}

/**
 * Requests the limits of accounts of the process that serves `path`: the first, or those that `asked` selects.
 * @throws {ControlRequestError}
 */
export const requestLimits = (path: string, asked: LimitsRequest = {}): Promise<LimitsReport> =>
  ask(path, posting('limits', asked), 'limits', toLimitsReport, AbortSignal.timeout(STATUS_MS));

/**
 * Requests all accounts with limits of the process that serves `path`, in as many requests as they need.
 * @throws {ControlRequestError}
 */
export async function requestAllLimits(path: string): Promise<LimitsReport> {
  const accounts: AccountReport[] = [];
  for (let after: string | undefined; ;) {
    const report = await requestLimits(path, { after });
    accounts.push(...report.accounts);
    after = report.accounts.at(-1)?.user;
    if (report.more === 0 || after === undefined) return { ...report, accounts };
  }
}

/**
 * Requests a comparison of the configuration files on disk with those that the process that serves `path` has loaded.
 * @throws {ControlRequestError}
 */
export function requestLoadedFiles(path: string): Promise<LoadedFiles> {
  const call = { method: 'GET', path: '/control/loaded-files', line: 'loaded-files' } as const;
  const signal = AbortSignal.timeout(COMPARE_MS);
  return ask(path, call, 'comparison of files', toLoadedFiles, signal);
}

/** Time limit for a report of usage, in milliseconds. */
const USAGE_MS = 10_000;

/**
 * Requests what the flows of the process that serves `path` have used.
 * @param signal ends the wait
 * @throws {ControlRequestError}
 * @throws the reason of `signal`
 */
export async function requestUsage(
  path: string,
  asked: Omit<UsageRequest, 'every'> = {},
  signal?: AbortSignal,
): Promise<RunningUsage> {
  for await (const report of timelyReports(path, asked, signal)) return report;
  throw new RangeError('it yields a report or throws');
}

/**
 * The usage of the process that serves `path`: a report, and then every `every` milliseconds, and at its end, what has
 * changed since the one before.
 * @throws {ControlRequestError}
 * @throws the reason of `signal`
 */
export const followUsage = (
  path: string,
  asked: UsageRequest & { readonly every: number },
  signal: AbortSignal,
): AsyncGenerator<RunningUsage, void, undefined> => timelyReports(path, asked, signal);

/** Yields at least one report, each in time. */
async function* timelyReports(
  path: string,
  asked: UsageRequest,
  signal?: AbortSignal,
): AsyncGenerator<RunningUsage, void, undefined> {
  const silent = new AbortController();
  const either = AbortSignal.any([silent.signal, ...(signal ? [signal] : [])]);
  const timer = setTimeout(() => silent.abort(), (asked.every ?? 0) + USAGE_MS);
  let isAnswered = false;
  try {
    for await (const report of usageReports(path, asked, either)) {
      isAnswered = true;
      yield report;
      timer.refresh();
    }
  } catch (error) {
    signal?.throwIfAborted();
    if (!silent.signal.aborted) throw error;
    const reason = 'the process did not respond in time';
    throw new ControlRequestError('usage', path, reason, { cause: error });
  } finally {
    clearTimeout(timer);
  }
  if (!isAnswered) throw new ControlRequestError('usage', path, GAVE_NONE);
}

async function* usageReports(
  path: string,
  asked: UsageRequest,
  signal: AbortSignal,
): AsyncGenerator<RunningUsage, void, undefined> {
  let reader = new UsageReader();
  try {
    for await (const line of linesOf(path, posting('usage', asked), MAX_RESPONSE, signal)) {
      const parsed = jsonIn(line);
      if (!reader.add(parsed)) {
        const outcome = toOutcome(parsed);
        const reason = outcome?.kind === 'failed' ? printable(outcome.line) : 'no line of a report';
        throw new ControlRequestError('usage', path, reason);
      }
      if (!reader.result) continue;
      yield reader.result;
      reader = new UsageReader();
    }
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof ControlRequestError) throw error;
    throw new ControlRequestError('usage', path, messageOf(error), { cause: error });
  }
}

/** A flow opened through an outbound of a running Weir. */
interface FlowThrough {
  /** Both directions of the flow, half-closed separately. */
  readonly stream: Socket;
  readonly opened: TunnelOpened;
}

/**
 * Opens a flow through an outbound of the process that serves `path`; the time limit of its dials applies.
 * @param signal ends the wait; the stream does not depend on it
 * @throws {TunnelError} when the process could not open the flow
 * @throws {ControlRequestError}
 * @throws the reason of `signal`
 */
export async function openTunnel(
  path: string,
  { outbound, host, port }: TunnelRequest,
  signal?: AbortSignal,
): Promise<FlowThrough> {
  const what = 'connection';
  const query = new URLSearchParams({ outbound, host, port: String(port) }).toString();
  const line = `connect ${JSON.stringify({ outbound, host, port })}`;
  let client: Socket | undefined;
  try {
    client = await openFlow(path, { query, line }, signal);
    const text = client && (await readLine(client, MAX_RESPONSE, signal));
    const opened = toTunnelResponse(jsonIn(text ?? ''));
    if (!client || !opened) throw new ControlRequestError(what, path, NO_OUTCOME);
    if (opened.kind === 'failed') throw new TunnelError(opened);
    return { stream: client, opened };
  } catch (error) {
    client?.destroy();
    if (error instanceof WeirError) throw error;
    signal?.throwIfAborted();
    throw new ControlRequestError(what, path, messageOf(error), { cause: error });
  }
}

async function requestOutcome(
  path: string,
  call: ControlCall,
  what: string,
): Promise<ReloadOutcome> {
  const outcome = toOutcome(await request(path, call, what));
  if (!outcome) throw new ControlRequestError(what, path, NO_OUTCOME);
  return outcome;
}

/**
 * Profiles the processor of the process that serves `path`, and describes its memory.
 * @param seconds duration of the profile; 0 for none
 * @throws {WeirError} with the reason of the process
 * @throws {ControlRequestError}
 * @throws the reason of `signal`
 */
export async function requestProfile(
  path: string,
  seconds: number,
  signal?: AbortSignal,
  busy = false,
): Promise<ProcessProfile> {
  const what = 'profile';
  const limit = AbortSignal.timeout(seconds * 1000 + PROFILE_MS);
  const either = signal ? AbortSignal.any([signal, limit]) : limit;
  const call = posting('profile', { seconds, busy });
  const response = await ask(path, call, what, toProfileResponse, either).catch(
    (error: unknown) => {
      signal?.throwIfAborted();
      throw error;
    },
  );
  if (response.kind === 'failed') throw new WeirError('profile', response.line);
  return response;
}

/** The running Weir has rejected a request for its log; the message is its reason. */
export class LogRefusedError extends WeirError {
  constructor(reason: string) {
    super('log_refused', reason);
  }
}

interface LogSelection extends LogRequest {
  /** Ends the iteration by throwing its reason. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * The log of the process that serves `path`: the latest lines if `tail` is set, then `live`, then lines as they are
 * logged, until that process ends. Lines that are not read in time are lost for this follower, and reported as `lost`.
 * @throws {LogRefusedError} for an invalid filter, and when there are too many followers
 * @throws {ControlRequestError}
 * @throws the reason of `signal`
 */
export async function* followLog(
  path: string,
  { signal, ...asked }: LogSelection = {},
): AsyncGenerator<LogEvent, void, undefined> {
  let isLive = false;
  try {
    for await (const line of linesOf(path, posting('log', asked), MAX_LOG_LINE, signal)) {
      const event = toLogEvent(line);
      if (!event) throw new WeirError('log_line', 'the process sent something else than log lines');
      if (event.kind === 'failed') throw new LogRefusedError(event.line);
      if (event.kind === 'live') isLive = true;
      yield event;
    }
  } catch (error) {
    signal?.throwIfAborted();
    if (error instanceof LogRefusedError) throw error;
    throw new ControlRequestError('log', path, messageOf(error), { cause: error });
  }
  if (!isLive) throw new ControlRequestError('log', path, GAVE_NONE);
}

/** A request whose parameters are its body, and the operand of its line. */
const posting = (name: string, body: object): ControlCall => ({
  method: 'POST',
  path: `/control/${name}`,
  body,
  line: `${name} ${JSON.stringify(body)}`,
});

/** Sends a request and reads one line of JSON; `undefined` for any other response. */
async function request(
  path: string,
  call: ControlCall,
  what: string,
  signal?: AbortSignal,
): Promise<unknown> {
  try {
    for await (const line of linesOf(path, call, MAX_RESPONSE, signal)) return jsonIn(line);
    return undefined;
  } catch (error) {
    const reason = signal?.aborted === true ? 'the process did not respond in time' : undefined;
    throw new ControlRequestError(what, path, reason ?? messageOf(error), { cause: error });
  }
}
