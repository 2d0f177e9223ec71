import {
  type Destination,
  type Endpoint,
  shownEndpoint,
  shownHost,
  shownSource,
} from '@weir/io/addresses';
import { codeOf } from '@weir/base';
import type { LogFields, Logger } from '@weir/base/log';
import { TruncatedError } from '@weir/io';
import type { RelayEnd } from '@weir/io/links';
import type { Clock, Timer } from '@weir/io/time';
import type { Origin } from '../protocols/contract.ts';
import type { Flow } from '../tracker/flow.ts';
import type { Resolved } from './routing-snapshot.ts';

/** Returns the part that all log lines of flows share: the inbound, the destination and the outbound. */
const describe = (inbound: string, to: Destination, outbound: string): string =>
  `${inbound} -> ${to.network} ${shownEndpoint(to)} by ${outbound}`;

/** Returns the text of the deciding rule, by the index that the API shows. */
function describeRule({ rule, isChosen }: Pick<Resolved, 'rule' | 'isChosen'>): string {
  if (isChosen === true) return 'chosen by the host program';
  return rule === undefined ? 'default route' : `rule ${rule}`;
}

/** Returns the debug line at the start of a flow. */
export function openedLine({ id, info }: Flow): string {
  const { inbound, destination, outbound, user, source } = info;
  const who = `${user === undefined ? '' : `user ${user}, `}from ${shownSource(source) ?? 'a local client'}`;
  return `flow ${id} ${describe(inbound, destination, outbound)} opened (${describeRule(info)}, ${who})`;
}

/** Returns the debug line at the end of a flow, with its final counts. */
export const closedLine = ({ id, up, down }: Flow, failure?: Error): string =>
  `flow ${id} closed: ${up} bytes up, ${down} down${failure ? `; ${failure.message}` : ''}`;

/** Returns the line of a failed flow or dial. */
export const failureLine = (
  inbound: string,
  to: Destination,
  route: Pick<Resolved, 'version' | 'rule' | 'isChosen'>,
  cause: string,
): string => `${describe(inbound, to, route.version.tag)}: ${cause} (${describeRule(route)})`;

/** Returns the fields of a `failureLine`. */
export const failureFields = (
  { inbound, user, source }: Pick<Origin, 'inbound' | 'user' | 'source'>,
  { host, port }: Endpoint,
  { version, rule }: Pick<Resolved, 'version' | 'rule'>,
  error: string,
): LogFields => ({
  inbound,
  outbound: tagOf(version.tag),
  host: shownHost(host),
  port,
  rule,
  user,
  source: shownSource(source),
  error,
});

/** Returns the fields of an `openedLine` or `closedLine`. */
export const flowFields = ({ info }: Flow, failure?: Error): LogFields => ({
  inbound: info.inbound,
  outbound: tagOf(info.outbound),
  host: shownHost(info.destination.host),
  port: info.destination.port,
  rule: info.rule,
  user: info.user,
  source: shownSource(info.source),
  error: failure?.message,
});

/** Returns an outbound's tag, `undefined` if it is empty: the proxy's own resolver is not a configured outbound. */
const tagOf = (tag: string): string | undefined => (tag === '' ? undefined : tag);

/**
 * Returns the reason why a flow has ended without a byte from its destination; `undefined` if the client caused it by
 * disconnecting without sending anything.
 *
 * @param suspect a probable cause of the silence: see `Outbound.suspect`
 */
export function causeOfSilence(
  sent: number,
  { failure, first, failed }: RelayEnd,
  suspect: string | undefined,
): string | undefined {
  if (first === 'client' && sent === 0) return undefined;
  const hint = suspect === undefined ? '' : `; ${suspect} looks like this`;
  if (failed === 'client') return `nothing came back before the client left${hint}`;
  if (!failure) {
    const what =
      first === 'client'
        ? 'nothing came back after the client had ended its side'
        : 'the server closed the connection without sending anything';
    return `${what}${hint}`;
  }
  if (codeOf(failure) === 'ECONNRESET') {
    return `the server reset the connection without sending anything${hint}`;
  }
  // Other failures have a reason of their own, such as the status of a gRPC call.
  return failure instanceof TruncatedError ? `${failure.message}${hint}` : failure.message;
}

/** Milliseconds in which equal lines are counted as one. */
const WINDOW_MS = 60_000;
/** Different lines in that period; further lines are only counted. */
const MAX_LINES = 128;
/** Characters of a line, which may quote text from a server. */
const MAX_LENGTH = 1024;

interface Entry {
  /** Number of repetitions in the current period. */
  more: number;
  readonly fields: LogFields | undefined;
}

/**
 * Log lines of level `info` about failed flows: each line once per minute, and at the end of the minute the number of
 * repetitions. However many flows fail, it writes at most 257 lines per minute and stores 128.
 */
export class FailureLog {
  readonly #log: Logger;
  readonly #clock: Clock;
  /** The lines of the current period. */
  readonly #lines = new Map<string, Entry>();
  #startedAt = 0;
  /** Number of failures beyond `MAX_LINES`. */
  #others = 0;
  /** The timer of the end of the period; set when there is a count to write. */
  #timer: Timer | undefined;

  constructor(log: Logger, clock: Clock) {
    this.#log = log;
    this.#clock = clock;
  }

  /** Whether lines are written at all. */
  get enabled(): boolean {
    return this.#log.enabled('info');
  }

  write(text: string, fields?: LogFields): void {
    const line = shortened(text);
    if (this.#clock.now() - this.#startedAt >= WINDOW_MS) this.#endWindow();
    const entry = this.#lines.get(line);
    if (!entry && this.#lines.size < MAX_LINES) {
      if (this.#lines.size === 0) this.#startedAt = this.#clock.now();
      const kept =
        fields?.error === undefined ? fields : { ...fields, error: shortened(fields.error) };
      this.#lines.set(line, { more: 0, fields: kept });
      this.#log.info(line, kept);
      return;
    }
    if (entry) entry.more++;
    else this.#others++;
    const left = this.#startedAt + WINDOW_MS - this.#clock.now();
    this.#timer ??= this.#clock.after(left, () => this.#endWindow());
  }

  /** Writes the counts, and begins a new period. */
  flush(): void {
    this.#endWindow();
  }

  #endWindow(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    for (const [line, { more, fields }] of this.#lines) {
      if (more === 0) continue;
      // Equal lines may be of several clients.
      const common = { ...fields, user: undefined, source: undefined, repeated: more };
      this.#log.info(`${line}; ${more} more like this in the last minute`, common);
    }
    if (this.#others > 0) {
      const repeated = this.#others;
      this.#log.info(`${repeated} other flows failed in the last minute`, { repeated });
    }
    this.#lines.clear();
    this.#others = 0;
  }
}

const shortened = (text: string): string =>
  text.length > MAX_LENGTH ? `${text.slice(0, MAX_LENGTH)}…` : text;
