import type { LogFields, LogLevel, WrittenLine } from '@weir/base/log';
import { type DialTimes, toDialTimes } from '@weir/io';
import { printable, printableJson } from '@weir/base/printable';
import { jsonIn } from '@weir/base/text/json';
import {
  isBoolean,
  isNumber,
  isObject,
  isText,
  listOf,
  optionally,
  orNull,
  shape,
} from '@weir/proxy/schema';
import type { ReloadOutcome } from '../outcomes.ts';

/*
 * The requests and responses of the control socket, each as JSON, with the checks of their readers. `status` is in
 * running-status.ts. Functions named `to…` return `undefined` for a value that is no such message.
 */

/** A request that failed; `line` is the reason. */
export type ControlFailed = Extract<ReloadOutcome, { readonly kind: 'failed' }>;

export const failed = (line: string): ControlFailed => ({ kind: 'failed', line });

const isFailed = shape<ControlFailed>({ kind: (value) => value === 'failed', line: isText });

/* `reload` and `log-level` */

/** Maximum bytes of the cause of a reload, in UTF-8. */
export const MAX_CAUSE = 512;

/** Why a text is invalid as the cause of a reload; `undefined` if it is valid. */
export function problemOfCause(cause: string): string | undefined {
  if (cause.trim() === '') return 'the cause of the reload is empty';
  if (printable(cause) !== cause) return 'the cause of the reload has unprintable characters';
  return Buffer.byteLength(cause) > MAX_CAUSE
    ? `the cause of the reload is longer than ${MAX_CAUSE} bytes`
    : undefined;
}

const isApplied = shape<Extract<ReloadOutcome, { readonly kind: 'applied' }>>({
  kind: (value) => value === 'applied',
  summary: isText,
});

export function toOutcome(parsed: unknown): ReloadOutcome | undefined {
  if (isApplied(parsed)) return { kind: 'applied', summary: parsed.summary };
  if (isFailed(parsed)) return failed(parsed.line);
  return isObject(parsed) && parsed['kind'] === 'unchanged' ? { kind: 'unchanged' } : undefined;
}

/* `drain` */

/** The operations on a drain. */
export type DrainAction = 'begin' | 'undo' | 'show';

const ACTIONS: readonly DrainAction[] = ['begin', 'undo', 'show'];

export const toDrainAction = (text: string): DrainAction | undefined =>
  ACTIONS.find((action) => action === text);

/** Whether the process drains, and how many clients are left. */
export interface DrainReport {
  readonly kind: 'drain';
  /** When the drain began, in Unix milliseconds; `null` while clients are accepted. */
  readonly since: number | null;
  readonly flows: number;
  readonly sessions: number;
  /** Number of clients that have not authenticated. */
  readonly handshakes: number;
  /** Number of flows of devices, which continue until the stop. */
  readonly device_flows: number;
}

/** The drain in the response to `status`, where it is `null` while clients are accepted. */
export type RunningDrain = Omit<DrainReport, 'kind' | 'since'> & { readonly since: number };

const isDrain = shape<DrainReport>({
  kind: (value) => value === 'drain',
  since: orNull(isNumber),
  flows: isNumber,
  sessions: isNumber,
  handshakes: isNumber,
  device_flows: isNumber,
});

export function toDrainReport(parsed: unknown): DrainReport | undefined {
  if (!isDrain(parsed)) return undefined;
  const { kind, since, flows, sessions, handshakes, device_flows } = parsed;
  return { kind, since, flows, sessions, handshakes, device_flows };
}

/* `loaded-files` */

/**
 * Whether the files of the running configuration have changed since they were loaded. It has no digests, which would
 * reveal a file's contents to a client that can guess the rest.
 */
export interface LoadedFiles {
  /** Files in the order in which they were read: the configuration file first. */
  readonly files: readonly LoadedFile[];
  /** Number of further files. */
  readonly more: number;
}

export interface LoadedFile {
  /** Absolute path. */
  readonly path: string;
  /** `same` also for a file that could not be read then and still cannot. */
  readonly state: 'same' | 'changed';
}

const isLoadedFiles = shape<LoadedFiles>({
  files: listOf(
    shape<LoadedFile>({ path: isText, state: (value) => value === 'same' || value === 'changed' }),
  ),
  more: isNumber,
});

export const toLoadedFiles = (parsed: unknown): LoadedFiles | undefined =>
  isLoadedFiles(parsed) ? { files: parsed.files, more: parsed.more } : undefined;

/* `user-flows` */

/** A selection of an inbound's flows, and whether to close them. */
export interface UserFlowsRequest {
  readonly inbound: string;
  /** Selects only flows with this label. */
  readonly user?: string | undefined;
  /** Whether to select only flows whose account has since been removed or given another secret. */
  readonly removed: boolean;
  /** Whether to close the flows; otherwise they are only counted. */
  readonly close: boolean;
}

export interface UserFlowsResponse {
  readonly kind: 'flows';
  readonly count: number;
}

export const isUserFlowsRequest = shape<UserFlowsRequest>({
  inbound: isText,
  user: optionally(isText),
  removed: isBoolean,
  close: isBoolean,
});

const isCount = shape<Pick<UserFlowsResponse, 'count'>>({ count: isNumber });

export const toUserFlows = (parsed: unknown): number | undefined =>
  isCount(parsed) ? parsed.count : undefined;

/* `log` */

export interface LogRequest {
  /** A filter in the syntax of `[log].level`; without one, all logged lines. */
  readonly filter?: string | undefined;
  /** Whether the response starts with the latest lines. */
  readonly tail?: boolean | undefined;
  /** Whether to continue after the latest lines; `true` by default. */
  readonly follow?: boolean | undefined;
}

/** An event that a follower of a log receives. */
export type LogEvent =
  | LoggedLine
  /** Later lines were logged after the request. */
  | { readonly kind: 'live' }
  /** Lines were lost here because the follower was too slow. */
  | { readonly kind: 'lost'; readonly count: number };

export interface LoggedLine {
  readonly kind: 'line';
  /** Unix milliseconds, with fractions. */
  readonly at: number;
  readonly level: LogLevel;
  readonly target: string;
  /** Printable text, with line feeds between the lines of a record. */
  readonly message: string;
  readonly fields: LogFields;
}

export const LIVE_LINE = '{"live":true}\n';
export const lostLine = (count: number): string => `{"lost":${count}}\n`;
export const refusedLine = (line: string): string => `${printableJson(failed(line))}\n`;
export const loggedLine = ({ at, level, target, message, fields }: WrittenLine): string =>
  `${printableJson({ at, level, target, message, fields })}\n`;

const LOG_REQUEST = {
  filter: optionally(isText),
  tail: optionally(isBoolean),
  follow: optionally(isBoolean),
};
const isLogRequest = shape<LogRequest>(LOG_REQUEST);

/** Parses a request; a field that this version does not know makes it invalid. */
export const toLogRequest = (parsed: unknown): LogRequest | undefined =>
  isLogRequest(parsed) && Object.keys(parsed).every((key) => key in LOG_REQUEST)
    ? parsed
    : undefined;

const LEVELS: ReadonlySet<unknown> = new Set(['error', 'warn', 'info', 'debug', 'trace']);

const isLogged = shape<Omit<LoggedLine, 'kind' | 'fields'>>({
  at: isNumber,
  level: (value) => LEVELS.has(value),
  target: isText,
  message: isText,
});

/** Parses a line of the response. */
export function toLogEvent(text: string): LogEvent | ControlFailed | undefined {
  const parsed = jsonIn(text);
  if (!isObject(parsed)) return undefined;
  const { kind, live, lost, fields } = parsed;
  if (kind === 'failed') return isFailed(parsed) ? failed(parsed.line) : undefined;
  if (live === true) return { kind: 'live' };
  if (typeof lost === 'number') return { kind: 'lost', count: lost };
  if (!isLogged(parsed)) return undefined;
  const { at, level, target, message } = parsed;
  return { kind: 'line', at, level, target, message, fields: toFields(fields) };
}

/** The fields with text and number values, including names that this version does not know. */
const toFields = (value: unknown): LogFields =>
  isObject(value)
    ? Object.fromEntries(
        Object.entries(value).filter((entry): entry is [string, string | number] =>
          ['string', 'number'].includes(typeof entry[1]),
        ),
      )
    : {};

/* `profile` */

interface ProfileRequest {
  /** Duration of the profile: 0 for none, at most `MAX_PROFILE_SECONDS`. */
  readonly seconds: number;
  /** Whether to profile even with more flows than `MOST_FLOWS_OF_PROFILE`. */
  readonly busy: boolean;
}

export const MAX_PROFILE_SECONDS = 30;

/**
 * Number of flows above which a profile has to be forced. V8 walks the whole heap when a recording begins, without
 * interruption: 20 to 40 ms in an idle Weir, and above 50 ms with the objects of thousands of flows.
 */
export const MOST_FLOWS_OF_PROFILE = 500;

/** The profile of a process, and statistics of its memory, without any of its contents. */
export interface ProcessProfile {
  readonly kind: 'profile';
  /** A .cpuprofile (`Profiler.Profile` of the Chrome DevTools Protocol); `null` without one. */
  readonly profile: object | null;
  /** Statistics from `node:v8` and `process`, by the names there; sizes in bytes. */
  readonly heap: object;
  /** `process.versions`. */
  readonly versions: Readonly<Record<string, string>>;
}

const isSeconds = (value: unknown): value is number =>
  isNumber(value) && value >= 0 && value <= MAX_PROFILE_SECONDS;

export function toProfileRequest(parsed: unknown): ProfileRequest | undefined {
  if (!isObject(parsed)) return undefined;
  const { seconds, busy } = parsed;
  return isSeconds(seconds) ? { seconds, busy: busy === true } : undefined;
}

const isProfile = shape<ProcessProfile>({
  kind: (value) => value === 'profile',
  profile: (value) => typeof value === 'object',
  heap: isObject,
  versions: isObject,
});

export function toProfileResponse(parsed: unknown): ProcessProfile | ControlFailed | undefined {
  if (isFailed(parsed)) return failed(parsed.line);
  if (!isProfile(parsed)) return undefined;
  const { kind, profile, heap, versions } = parsed;
  const texts = Object.entries(versions).filter((entry) => isText(entry[1]));
  return { kind, profile, heap, versions: Object.fromEntries(texts) };
}

/* `connect` */

export interface TunnelRequest {
  /** Tag of an outbound, or of a balancer, which picks one of its members. */
  readonly outbound: string;
  readonly host: string;
  readonly port: number;
}

/** The protocol that a connection for a flow is upgraded to: the response as a line of JSON, then the flow's bytes. */
export const FLOW_PROTOCOL = 'weir-flow';

/** The response to `connect`. After `connected`, the bytes of the flow follow. */
export type TunnelResponse = TunnelOpened | TunnelFailed;

/** No flow was opened. */
export interface TunnelFailed extends ControlFailed {
  /** Times of the dial's steps that were completed; empty where none began. */
  readonly times: DialTimes;
}

/** A flow is open: at this point the outbound would accept a client. */
export interface TunnelOpened {
  readonly kind: 'connected';
  /** Tag of the outbound; for a balancer, of the member it has picked. */
  readonly outbound: string;
  /**
   * Times of the dial's steps since the request; `reused` where the flow shares an existing connection to the server,
   * as with QUIC and gRPC. The time of `opened` beyond the other steps is the outbound's own exchange with its server.
   * Several protocols have none before the first payload: then the destination may still be unreachable.
   */
  readonly times: DialTimes;
  /** See `Outbound.suspect`; `null` for none. */
  readonly suspect: string | null;
}

export const isTunnelRequest = shape<TunnelRequest>({
  outbound: isText,
  host: isText,
  port: (value) => Number.isInteger(value) && Number(value) > 0 && Number(value) < 1 << 16,
});

export function toTunnelResponse(parsed: unknown): TunnelResponse | undefined {
  if (!isObject(parsed)) return undefined;
  const { kind, outbound, suspect } = parsed;
  const times = toDialTimes(parsed['times']);
  if (isFailed(parsed)) return { ...failed(parsed.line), times };
  if (kind !== 'connected' || !isText(outbound)) return undefined;
  return { kind, outbound, times, suspect: isText(suspect) ? suspect : null };
}
