import type { Failure } from './faults.ts';
import type { State, Victim } from './victim.ts';

/** What a client got: all that it wanted, or a failure that it was told of. */
export type Outcome = { readonly served: true } | { readonly served: false; readonly why: string };

export const SERVED: Outcome = { served: true };
export const unserved = (why: unknown): Outcome => ({
  served: false,
  why: why instanceof Error ? why.message : String(why),
});

/** Something that no failure of a call excuses: a wrong byte, a hang, a leak. */
export class Violation extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'Violation';
  }
}

/** A Weir and what is around it, ready to be used again and again. */
export interface Stage extends AsyncDisposable {
  readonly victim: Victim;
  /**
   * One client from its beginning to its end.
   *
   * @param failure that it may meet.
   * @throws {Violation} for what must not happen whatever call fails.
   */
  readonly use: (failure?: Failure) => Promise<Outcome>;
  /** What may be left after a use beside what was there before it. */
  readonly mayKeep?: Partial<State>;
}

export interface Scenario {
  readonly name: string;
  readonly start: () => Promise<Stage>;
  /** The calls that are made to fail; absent: all that a use makes. */
  readonly calls?: (call: string) => boolean;
}
