import { accountRoom } from '@weir/io/bounds';
import type { ByteGate, GateWaiter } from '@weir/io/links';

/** A gate that allows what a test grants. */
export class BudgetGate implements ByteGate {
  readonly datagrams = accountRoom();
  left: number;
  readonly waiters = new Set<GateWaiter>();

  constructor(left: number) {
    this.left = left;
  }

  allowance(): number {
    return Math.max(0, this.left);
  }

  wait(waiter: GateWaiter): void {
    this.waiters.add(waiter);
  }

  forget(waiter: GateWaiter): void {
    this.waiters.delete(waiter);
  }

  /** Allows more bytes, and resumes what waits. */
  grant(bytes: number): void {
    this.left += bytes;
    for (const waiter of Array.from(this.waiters)) {
      this.waiters.delete(waiter);
      waiter.resume();
    }
  }
}
