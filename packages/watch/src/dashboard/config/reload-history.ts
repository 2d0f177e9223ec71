import type { LastReload } from '@weir/server/control';
import { outcomeLine, summaryOf } from '@weir/server/app/outcomes';
import type { ReloadReport } from '@weir/server/supervisor/reload-report';
import type { SeenReload } from './view.ts';

/** Maximum number of reloads that are kept. */
const MOST = 50;
/** For this many milliseconds, Weir's status may repeat the outcome of an action of this process. */
const REPEATED_MS = 60_000;

/**
 * The reloads since the dashboard started, and the last one before. Of several between two reads of Weir's status only
 * the last is seen.
 */
export class ReloadHistory {
  readonly #entries: SeenReload[] = [];
  #next = 1;
  /** The last entry of this process that Weir's status has not repeated yet. */
  #expected: { readonly at: number; readonly outcome: SeenReload['outcome'] } | undefined;
  #seenAt: number | undefined;

  /** The reloads, newest first. */
  get entries(): readonly SeenReload[] {
    return this.#entries;
  }

  /** Adds the outcome of a reload that this process requested. @param failure why it failed */
  own(at: number, by: string, outcome: ReloadReport | { readonly failure: string }): void {
    const failed = 'failure' in outcome;
    const report = !failed && outcome.status === 'applied' ? outcome : null;
    const view = {
      at,
      by,
      outcome: failed ? ('failed' as const) : outcome.status,
      text: failed ? outcome.failure : report ? summaryOf(report) : NOT_CHANGED,
      report,
    };
    this.#expected = view;
    this.#add(view);
  }

  /** Adds the last reload of Weir's status. @returns whether it is a new one */
  seen({ at, outcome }: LastReload): boolean {
    if (at === this.#seenAt) return false;
    this.#seenAt = at;
    const expected = this.#expected;
    this.#expected = undefined;
    if (expected?.outcome === outcome.kind && Math.abs(at - expected.at) < REPEATED_MS) return true;
    this.#add({
      at,
      by: null,
      outcome: outcome.kind,
      text: outcome.kind === 'applied' ? outcome.summary : outcomeLine(outcome),
      report: null,
    });
    return true;
  }

  #add(view: Omit<SeenReload, 'id'>): void {
    this.#entries.unshift({ id: this.#next++, ...view });
    if (this.#entries.length > MOST) this.#entries.pop();
  }
}

const NOT_CHANGED = outcomeLine({ kind: 'unchanged' });
