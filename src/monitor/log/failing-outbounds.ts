import type { LogEntry } from './log-line.ts';

/** An outbound by which flows have failed, in the log lines of failed flows. */
export interface FailingOutbound {
  readonly outbound: string;
  /** Why the last one failed. */
  readonly cause: string;
  /** The destination of the last one; `undefined` where the line has none. */
  readonly to: string | undefined;
  /** Index of the route rule of the last one; `undefined` for the default route. */
  readonly rule: number | undefined;
  /** Failed flows since `since`. */
  readonly count: number;
  readonly since: number;
  readonly last: number;
}

/** Outbounds that are remembered. */
const MAX_OUTBOUNDS = 64;

/** An outbound without a failure for this long is not failing now. Repetitions are logged once a minute. */
export const FAILING_MS = 120_000;

/** Counts failures of outbounds by the log's lines, which are at `info`: see FailureLog of the engine. */
export class FailingOutbounds {
  /** The one with the latest failure comes last. */
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
    // A rule has sent the flow there to be blocked: nothing failed.
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

  /** Those that fail at this time, the latest first. */
  at(now: number): readonly FailingOutbound[] {
    return [...this.#outbounds.values()].filter(({ last }) => now - last < FAILING_MS).toReversed();
  }

  /** Failures of which the log has only the number. */
  othersAt(now: number): number {
    return this.#others && now - this.#others.at < FAILING_MS ? this.#others.count : 0;
  }
}

function destinationOf({ host, port }: { host?: string | undefined; port?: number | undefined }) {
  if (host === undefined) return undefined;
  return port === undefined ? host : `${host.includes(':') ? `[${host}]` : host}:${port}`;
}
