import type { TunnelEvent, TunnelState } from './contract.ts';

/** The state of a tunnel, and the events that its owner has not taken yet. */
export class TunnelStatus {
  #state: TunnelState = 'unused';
  readonly #events: TunnelEvent[] = [];

  get state(): TunnelState {
    return this.#state;
  }

  /** Enters a state; `closed` is final. */
  enter(state: TunnelState): void {
    if (this.#state === state || this.#state === 'closed') return;
    this.#state = state;
    if (state === 'established' || state === 'silent') this.notify(state);
  }

  notify(event: TunnelEvent): void {
    if (!this.#events.includes(event)) this.#events.push(event);
  }

  nextEvent(): TunnelEvent | undefined {
    return this.#events.shift();
  }
}
