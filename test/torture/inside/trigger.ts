import { constants } from 'node:os';
import type { Failure, Fault } from '../faults.ts';

/** Counts calls while it is armed, and says which of them is to fail. */
export class Trigger {
  #counts = new Map<string, number>();
  #isArmed = false;
  #failure: Failure | undefined;
  #fired = false;

  /** Starts to count from zero. @param failure absent: every call succeeds. */
  arm(failure: Failure | undefined): void {
    this.#counts = new Map();
    this.#failure = failure;
    this.#fired = false;
    this.#isArmed = true;
  }

  /** Ends the count: calls from now on succeed. */
  disarm(): { readonly fired: boolean; readonly counts: Readonly<Record<string, number>> } {
    this.#isArmed = false;
    return { fired: this.#fired, counts: Object.fromEntries(this.#counts) };
  }

  /** Counts a call; the fault with which it is to fail. */
  count(call: string): Fault | undefined {
    if (!this.#isArmed) return undefined;
    const count = (this.#counts.get(call) ?? 0) + 1;
    this.#counts.set(call, count);
    const failure = this.#failure;
    if (failure?.call !== call || failure.nth !== count) return undefined;
    this.#fired = true;
    return failure.fault;
  }
}

/** The positive error number of a fault that has one. */
export function errnoOf(fault: Exclude<Fault, 'short'>): number {
  const number = (constants.errno as Readonly<Record<string, number>>)[fault];
  if (number === undefined) throw new Error(`this system has no ${fault}`);
  return number;
}
