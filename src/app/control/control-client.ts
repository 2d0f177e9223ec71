import { once } from 'node:events';
import { Socket } from 'node:net';
import { asError, codeOf, messageOf, WeirError } from '../../errors.ts';
import { printable } from '../../printable.ts';
import type { DialTimes } from '../../net/dial-steps.ts';
import type { ReloadOutcome } from '../outcomes.ts';
import { problemOfCause } from './control-socket.ts';
import { toDrainStatus, type DrainAction, type DrainStatus } from './drain-messages.ts';
import { toProfileResponse, type ProcessProfile } from './profile-messages.ts';
import { toRunningStatus, type RunningStatus } from './running-status.ts';
import {
  toTunnelResponse,
  type TunnelFailed,
  type TunnelOpened,
  type TunnelRequest,
} from './tunnel-messages.ts';
import { toLoadedFiles, type LoadedFiles } from './loaded-files-messages.ts';
import { toUserFlows, type UserFlowsRequest } from './user-flows-messages.ts';

/** The running Weir could not be reached, or sent no valid response. The outcome of the request is unknown. */
export class ControlRequestError extends WeirError {
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

/** Time limit for `status` in milliseconds; its response is immediate. */
const STATUS_MS = 5_000;
/** Time limit for reading all files of a configuration, in milliseconds. */
const COMPARE_MS = 30_000;

/** Milliseconds that a profile takes beyond its recording. */
const PROFILE_MS = 15_000;

const NO_OUTCOME = 'the process gave no outcome';

const GAVE_NONE =
  'the process gave none: it has ended, or is an older Weir, which has no such request';

/** @param parsed what the process has sent instead: a failure with its reason, or anything else */
const noResponse = (what: string, path: string, parsed: unknown): ControlRequestError =>
  new ControlRequestError(what, path, failureIn(parsed) ?? GAVE_NONE);

function failureIn(parsed: unknown): string | undefined {
  const outcome = toOutcome(parsed);
  return outcome?.kind === 'failed' ? printable(outcome.line) : undefined;
}

/**
 * Requests a reload of the process that serves `path`, and waits for its outcome without a time limit.
 *
 * @param cause written to the process's log before the reload: printable, at most 512 bytes
 * @throws {ControlRequestError}
 * @throws {WeirError} for an invalid cause
 */
export async function requestReload(path: string, cause?: string): Promise<ReloadOutcome> {
  const problem = cause === undefined ? undefined : problemOfCause(cause);
  if (problem !== undefined) throw new WeirError('reload_cause', problem);
  return requestOutcome(path, cause === undefined ? 'reload' : `reload ${cause}`, 'reload');
}

/**
 * Requests a change of the log filter of the process that serves `path`.
 * @throws {ControlRequestError} unless it has applied or rejected the filter
 */
export const requestLogFilter = (path: string, filter: string): Promise<ReloadOutcome> =>
  requestOutcome(path, `log-level ${filter}`, 'change of the log level');

/**
 * Requests the status of the process that serves `path`.
 *
 * @param timeoutMs milliseconds until it counts as not responding
 * @throws {ControlRequestError}
 */
export async function requestStatus(path: string, timeoutMs = STATUS_MS): Promise<RunningStatus> {
  const parsed = await request(path, 'status', 'status', AbortSignal.timeout(timeoutMs));
  const status = toRunningStatus(parsed);
  if (status) return status;
  throw noResponse('status', path, parsed);
}

/**
 * Begins, undoes or shows a drain of the process that serves `path`. Waits without a time limit for a running reload.
 *
 * @throws {ControlRequestError} also with the reason why listeners could not be reopened
 */
export async function requestDrain(path: string, action: DrainAction): Promise<DrainStatus> {
  const parsed = await request(path, `drain ${action}`, 'drain');
  const status = toDrainStatus(parsed);
  if (status) return status;
  throw noResponse('drain', path, parsed);
}

/**
 * Counts or closes flows of users in the process that serves `path`.
 *
 * @returns how many flows matched
 * @throws {ControlRequestError}
 */
export async function requestUserFlows(path: string, asked: UserFlowsRequest): Promise<number> {
  const what = asked.close ? 'closing of flows' : 'count of flows';
  const parsed = await request(
    path,
    `user-flows ${JSON.stringify(asked)}`,
    what,
    AbortSignal.timeout(STATUS_MS),
  );
  const count = toUserFlows(parsed);
  if (count !== undefined) return count;
  throw noResponse(what, path, parsed);
}

/**
 * Requests a comparison of the configuration files on disk with those that the process that serves `path` has loaded.
 * @throws {ControlRequestError}
 */
export async function requestLoadedFiles(path: string): Promise<LoadedFiles> {
  const what = 'comparison of files';
  const parsed = await request(path, 'loaded-files', what, AbortSignal.timeout(COMPARE_MS));
  const files = toLoadedFiles(parsed);
  if (files) return files;
  throw noResponse(what, path, parsed);
}

/** A flow opened through an outbound of a running Weir. */
export interface FlowThrough {
  /** Both directions of the flow, half-closed separately. */
  readonly stream: Socket;
  readonly opened: TunnelOpened;
}

/**
 * Opens a flow through an outbound of the process that serves `path`; the time limit of its dials applies.
 *
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
  const client = new Socket({ allowHalfOpen: true });
  try {
    await send(client, path, `connect ${JSON.stringify({ outbound, host, port })}`, signal);
    const opened = toTunnelResponse(parse(await readLine(client, signal)));
    if (!opened) throw new ControlRequestError(what, path, NO_OUTCOME);
    if (opened.kind === 'failed') throw new TunnelError(opened);
    return { stream: client, opened };
  } catch (error) {
    client.destroy();
    if (error instanceof WeirError) throw error;
    signal?.throwIfAborted();
    throw new ControlRequestError(what, path, messageOf(error), { cause: error });
  }
}

async function requestOutcome(path: string, line: string, what: string): Promise<ReloadOutcome> {
  const outcome = toOutcome(await request(path, line, what));
  if (!outcome) throw new ControlRequestError(what, path, NO_OUTCOME);
  return outcome;
}

/**
 * Profiles the processor of the process that serves `path`, and describes its memory.
 *
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
  const parsed = await request(
    path,
    `profile ${JSON.stringify({ seconds, busy })}`,
    what,
    either,
  ).catch((error: unknown) => {
    signal?.throwIfAborted();
    throw error;
  });
  const response = toProfileResponse(parsed);
  if (response?.kind === 'failed') throw new WeirError('profile', response.line);
  if (response) return response;
  throw noResponse(what, path, parsed);
}

/** Sends one line and reads one line of JSON; `undefined` for any other response. */
async function request(
  path: string,
  line: string,
  what: string,
  signal?: AbortSignal,
): Promise<unknown> {
  const client = new Socket();
  try {
    await send(client, path, line, signal);
    return parse(await readLine(client, signal));
  } catch (error) {
    const reason = signal?.aborted === true ? 'the process did not respond in time' : undefined;
    throw new ControlRequestError(what, path, reason ?? messageOf(error), { cause: error });
  } finally {
    client.destroy();
  }
}

/** Connects and sends a one-line request. */
export async function send(
  client: Socket,
  path: string,
  line: string,
  signal: AbortSignal | undefined,
): Promise<void> {
  client.connect({ path });
  await once(client, 'connect', { signal });
  client.write(`${line}\n`);
}

const LINE_FEED = 0x0a;

/**
 * Reads a line; data behind it stays in the socket.
 *
 * @returns `undefined` when the peer ends before the end of a line, or the line is too long
 * @throws the error of the socket, or the reason of `signal`
 */
async function readLine(
  client: Socket,
  signal: AbortSignal | undefined,
): Promise<string | undefined> {
  const onAbort = (): void => void client.destroy(asError(signal?.reason));
  signal?.addEventListener('abort', onAbort);
  const chunks: Buffer[] = [];
  let length = 0;
  try {
    for await (const chunk of client.iterator({
      destroyOnReturn: false,
    }) as AsyncIterable<Buffer>) {
      const end = chunk.indexOf(LINE_FEED);
      chunks.push(end < 0 ? chunk : chunk.subarray(0, end));
      length += chunk.length;
      if (end >= 0) {
        if (end + 1 < chunk.length) client.unshift(chunk.subarray(end + 1));
        return Buffer.concat(chunks).toString();
      }
      if (length > MAX_RESPONSE) return undefined;
    }
    return undefined;
  } finally {
    signal?.removeEventListener('abort', onAbort);
  }
}

function parse(line: string | undefined): unknown {
  if (line === undefined) return undefined;
  try {
    return JSON.parse(line) as unknown;
  } catch {
    return undefined;
  }
}

/** Parses the outcome of a reload; `undefined` for anything else. */
function toOutcome(parsed: unknown): ReloadOutcome | undefined {
  if (typeof parsed !== 'object' || parsed === null || !('kind' in parsed)) return undefined;
  switch (parsed.kind) {
    case 'applied':
      return 'summary' in parsed && typeof parsed.summary === 'string'
        ? { kind: 'applied', summary: parsed.summary }
        : undefined;
    case 'unchanged':
      return { kind: 'unchanged' };
    case 'failed':
      return 'line' in parsed && typeof parsed.line === 'string'
        ? { kind: 'failed', line: parsed.line }
        : undefined;
    default:
      return undefined;
  }
}
