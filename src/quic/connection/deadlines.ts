/** What a connection itself waits for; its parts have deadlines of their own. */
export type DeadlineName = 'handshake' | 'idle' | 'keepAlive' | 'pacing' | 'close';

const NAMES: readonly DeadlineName[] = ['handshake', 'idle', 'keepAlive', 'pacing', 'close'];

/** Named points in time, in milliseconds; Infinity for those that are not set. */
export class Deadlines {
  readonly #at: Record<DeadlineName, number> = {
    handshake: Infinity,
    idle: Infinity,
    keepAlive: Infinity,
    pacing: Infinity,
    close: Infinity,
  };

  at(name: DeadlineName): number {
    return this.#at[name];
  }

  set(name: DeadlineName, at: number): void {
    this.#at[name] = at;
  }

  clear(name: DeadlineName): void {
    this.#at[name] = Infinity;
  }

  clearAll(): void {
    for (const name of NAMES) this.#at[name] = Infinity;
  }

  /** Whether it is due; then it is cleared. */
  take(name: DeadlineName, now: number): boolean {
    if (now < this.#at[name]) return false;
    this.#at[name] = Infinity;
    return true;
  }

  /** The earliest. */
  get next(): number {
    const at = this.#at;
    return Math.min(at.handshake, at.idle, at.keepAlive, at.pacing, at.close);
  }
}
