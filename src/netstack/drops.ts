import type { DropReason, Trace } from './trace.ts';

/** Counts dropped packets, and reports them to the trace. */
export class Drops {
  readonly trace: Trace | undefined;
  #count = 0;

  constructor(trace: Trace | undefined) {
    this.trace = trace;
  }

  get count(): number {
    return this.#count;
  }

  add(reason: DropReason, bytes: number, now: number): void {
    this.#count++;
    if (this.trace !== undefined) this.trace({ kind: 'packet-dropped', reason, bytes }, now);
  }
}
