import type { LogEntry } from './log-store.ts';

/** An outbound on which flows have failed, according to the log. */
export interface FailingOutbound {
  readonly outbound: string;
  /** Error of the last failure. */
  readonly cause: string;
  /** Destination of the last failure; `undefined` where the line has none. */
  readonly to: string | undefined;
  /** Index of the last failure's route rule; `undefined` for the default route. */
  readonly rule: number | undefined;
  /** Number of failed flows since `since`. */
  readonly count: number;
  readonly since: number;
  readonly last: number;
}

/** Maximum number of outbounds that are remembered. */
const MAX_OUTBOUNDS = 64;

/**
 * Milliseconds without a failure after which an outbound is not failing any more. Repetitions are logged once a minute.
 */
export const FAILING_MS = 120_000;

/** Counts failures of outbounds by the lines of the log, which are at `info`: see FailureLog of the engine. */
export class FailingOutbounds {
  /** Outbounds by tag; the one with the latest failure is last. */
  readonly #outbounds = new Map<string, FailingOutbound>();
  #others: { readonly count: number; readonly at: number } | undefined;

  note(entry: LogEntry): void {
    if (entry.kind !== 'line' || entry.level !== 'info') return;
    const { at, fields } = entry;
    const { outbound, error, repeated } = fields;
    if (outbound === undefined) {
      if (repeated === undefined) return;
      const before = this.othersAt(at);
      this.#others = { count: before + repeated, at };
      return;
    }
    // A rule has sent the flow there to be blocked, which is not a failure.
    if (error === undefined || error.endsWith(`blocked by outbound ${outbound}`)) return;
    const known = this.#outbounds.get(outbound);
    const before = known && at - known.last < FAILING_MS ? known : undefined;
    this.#outbounds.delete(outbound);
    this.#outbounds.set(outbound, {
      outbound,
      cause: error,
      to: destinationOf(fields),
      rule: fields.rule,
      count: (before?.count ?? 0) + (repeated ?? 1),
      since: before?.since ?? at,
      last: at,
    });
    if (this.#outbounds.size > MAX_OUTBOUNDS) {
      const [oldest = ''] = this.#outbounds.keys();
      this.#outbounds.delete(oldest);
    }
  }

  /** Outbounds that are failing at this time, the latest failure first. */
  at(now: number): readonly FailingOutbound[] {
    return [...this.#outbounds.values()].filter(({ last }) => now - last < FAILING_MS).toReversed();
  }

  /** Number of failures that the log only counts. */
  othersAt(now: number): number {
    return this.#others && now - this.#others.at < FAILING_MS ? this.#others.count : 0;
  }
}

function destinationOf({ host, port }: { host?: string | undefined; port?: number | undefined }) {
  if (host === undefined) return undefined;
  return port === undefined ? host : `${host.includes(':') ? `[${host}]` : host}:${port}`;
}
