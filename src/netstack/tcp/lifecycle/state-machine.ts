import type { Trace } from '../../trace.ts';
import type { Deadlines } from '../deadlines.ts';
import type { EventFlags, TcpFailure } from '../events.ts';
import type { SendBuffer } from '../send-buffer.ts';
import { mayGo, type TcpState } from '../state.ts';
import { TimeWait, type TimeWaitFacts } from './time-wait.ts';

/** The state of a connection (RFC 9293 §3.3.2), and the events of its end. */
export class StateMachine {
  readonly #sendBuffer: SendBuffer;
  readonly #events: EventFlags;
  readonly #deadlines: Deadlines;
  readonly #trace: Trace | undefined;
  #state: TcpState;
  #failure: TcpFailure | undefined;
  #timeWait: TimeWait | undefined;

  constructor(
    initial: TcpState,
    sendBuffer: SendBuffer,
    events: EventFlags,
    deadlines: Deadlines,
    trace: Trace | undefined,
  ) {
    this.#state = initial;
    this.#sendBuffer = sendBuffer;
    this.#events = events;
    this.#deadlines = deadlines;
    this.#trace = trace;
  }

  get state(): TcpState {
    return this.#state;
  }

  /** The reason why the connection ended early. */
  get failure(): TcpFailure | undefined {
    return this.#failure;
  }

  /** The state in TIME-WAIT, kept afterwards. */
  get timeWait(): TimeWait | undefined {
    return this.#timeWait;
  }

  /** Enters a state; no effect if figure 5 has no such transition. CLOSED ends all timers. */
  enter(to: TcpState, now: number): void {
    const from = this.#state;
    if (!mayGo(from, to)) return;
    this.#state = to;
    if (this.#trace !== undefined) this.#trace({ kind: 'state', from, to }, now);
    if (to !== 'CLOSED') return;
    this.#deadlines.clearAll();
    if (from !== 'TIME-WAIT') this.#events.raise('closed');
  }

  /** Enters CLOSED because of a failure; unacknowledged data is discarded. */
  fail(failure: TcpFailure, now: number): void {
    if (this.#state === 'CLOSED') return;
    this.#failure = failure;
    this.#events.raise('failed');
    this.#sendBuffer.clear();
    this.enter('CLOSED', now);
  }

  enterTimeWait(facts: TimeWaitFacts, now: number): void {
    this.enter('TIME-WAIT', now);
    this.#deadlines.clearAll();
    this.#timeWait = new TimeWait(facts, now);
    this.restartTimeWait();
    this.#events.raise('closed');
  }

  /** Applies a change of the 2 MSL timeout of `timeWait`. */
  restartTimeWait(): void {
    if (this.#timeWait !== undefined) this.#deadlines.set('close', this.#timeWait.expiresAt);
  }
}
