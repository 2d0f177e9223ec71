import { isNumber, isObject, isText, listOf, orNull, shape } from '@weir/proxy/schema';
import { isReset, type LimitChange, type ReachedLimit, type Reset } from '@weir/proxy/limits';
import { type ControlFailed, failed } from './messages.ts';

/*
 * The request `limits` and its response. Times are Unix milliseconds, rates bytes per second. Fields may be added.
 */

/** Selects the accounts of a report. */
export interface LimitsRequest {
  /** The only account to report. */
  readonly user?: string | undefined;
  /** The last account of the report before, of which this one is the continuation. */
  readonly after?: string | undefined;
}

/** Accounts in one report. */
export const MAX_ACCOUNTS = 1000;

/** The limits of accounts of a running Weir, and how much of them is used. */
export interface LimitsReport {
  readonly kind: 'limits';
  /** Absolute path of the limits file; `null` without `--limits`, and then there are no accounts. */
  readonly file: string | null;
  /** Absolute path of the file with the used bytes; `null` without `--limits`. */
  readonly state_file: string | null;
  /** The first accounts, in the order in which they got limits: those that the file names, and those of `"*"` that had a flow. */
  readonly accounts: readonly AccountReport[];
  /** Number of further accounts: see `LimitsRequest.after`. */
  readonly more: number;
  /** The latest events, oldest first; `seq` shows whether a reader has missed some. */
  readonly events: readonly LimitEvent[];
}

/** Why new flows of an account are refused; `open` if they are not. */
export type LimitState = ReachedLimit | 'open';

/** One account. A limit that it does not have is `null`. */
export interface AccountReport {
  readonly user: string;
  /** `devices`: flows of present devices are still accepted. */
  readonly state: LimitState;
  /** Payload bytes of the current period from and to the account. */
  readonly up: number;
  readonly down: number;
  /** The sum of `up` and `down`. */
  readonly used: number;
  readonly bytes: number | null;
  /** What is left of `bytes`. */
  readonly left: number | null;
  readonly reset: Reset;
  /** When `used` begins at 0 again. */
  readonly resets_at: number | null;
  /** The first moment at which the account no longer works. */
  readonly until: number | null;
  /** Distinct sources with a flow in the last minute; 0 without a limit of them. */
  readonly devices: number;
  readonly max_devices: number | null;
  readonly up_rate: number | null;
  readonly down_rate: number | null;
  /** Open flows. */
  readonly flows: number;
  /** When the account last had an open flow; `null` if not since the start. */
  readonly last_seen: number | null;
}

/** An account has reached a limit, or works again. */
export interface LimitEvent extends LimitChange {
  /** Number of the event since the start, from 1. */
  readonly seq: number;
  readonly at: number;
}

/** The report of a process without `--limits`. */
const NONE: LimitsReport = {
  kind: 'limits',
  file: null,
  state_file: null,
  accounts: [],
  more: 0,
  events: [],
};

/** Handles `limits`. @param limits `undefined` without `--limits` */
export function answerLimits(
  body: unknown,
  limits: { report(request: LimitsRequest): LimitsReport } | undefined,
): LimitsReport | ControlFailed {
  const request = toLimitsRequest(body ?? {});
  if (!request) return failed('expected {"user":NAME} or {"after":NAME}');
  return limits?.report(request) ?? NONE;
}

function toLimitsRequest(parsed: unknown): LimitsRequest | undefined {
  if (!isObject(parsed)) return undefined;
  const { user, after } = parsed;
  return isOptionalText(user) && isOptionalText(after) ? { user, after } : undefined;
}

const isOptionalText = (value: unknown): value is string | undefined =>
  value === undefined || isText(value);

const isState = (value: unknown): value is LimitState =>
  ['open', 'bytes', 'until', 'devices'].some((state) => state === value);

const isReport = shape<LimitsReport>({
  kind: (value) => value === 'limits',
  file: orNull(isText),
  state_file: orNull(isText),
  accounts: listOf(
    shape<AccountReport>({
      user: isText,
      state: isState,
      up: isNumber,
      down: isNumber,
      used: isNumber,
      bytes: orNull(isNumber),
      left: orNull(isNumber),
      reset: isReset,
      resets_at: orNull(isNumber),
      until: orNull(isNumber),
      devices: isNumber,
      max_devices: orNull(isNumber),
      up_rate: orNull(isNumber),
      down_rate: orNull(isNumber),
      flows: isNumber,
      last_seen: orNull(isNumber),
    }),
  ),
  more: isNumber,
  events: listOf(
    shape<LimitEvent>({
      seq: isNumber,
      at: isNumber,
      user: isText,
      state: isState,
      closed: isNumber,
    }),
  ),
});

export const toLimitsReport = (parsed: unknown): LimitsReport | undefined =>
  isReport(parsed) ? parsed : undefined;
