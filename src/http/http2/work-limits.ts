import { RateLimit } from '../../net/time/rate-limit.ts';
import { connectionError, type Http2Error } from './errors.ts';
import {
  RESET_BURST,
  RESET_RATE,
  STREAM_WORK,
  UNPROVEN_RESETS,
  UNPROVEN_WORK_A_TURN,
  WINDOW_LOOK_BURST,
  WINDOW_LOOK_RATE,
  WORK_A_TURN,
} from './limits.ts';

/** How much work a peer may cause: over time, with an error beyond it, and in one turn. */
export class WorkLimits {
  #resets: RateLimit;
  readonly #windowLooks = new RateLimit(WINDOW_LOOK_RATE, WINDOW_LOOK_BURST);
  #isProven: boolean;
  /** Work caused by the frames of this turn. */
  #work = 0;

  /** @param isProven whether this side has chosen the peer, as a client has its server. */
  constructor(isProven: boolean) {
    this.#isProven = isProven;
    this.#resets = isProven
      ? new RateLimit(RESET_RATE, RESET_BURST)
      : new RateLimit(0, UNPROVEN_RESETS);
  }

  /** Whether the peer has the larger limits. */
  get isProven(): boolean {
    return this.#isProven;
  }

  /** A stream of the peer is served: from now on the peer has the larger limits. */
  prove(): void {
    if (this.#isProven) return;
    this.#isProven = true;
    this.#resets = new RateLimit(RESET_RATE, RESET_BURST);
  }

  beginTurn(): void {
    this.#work = 0;
  }

  /** A stream is opened, refused or reset in this turn. */
  addStream(): void {
    this.#work += STREAM_WORK;
  }

  /** @param touched number of streams whose readers will be called in this turn. */
  isTurnSpent(touched: number): boolean {
    return this.#work + touched >= (this.#isProven ? WORK_A_TURN : UNPROVEN_WORK_A_TURN);
  }

  /** Counts the reset of a stream that was not served. */
  countReset(now: number): Http2Error | undefined {
    if (this.#resets.take(now)) return undefined;
    return connectionError('ENHANCE_YOUR_CALM', 'too many streams are reset');
  }

  /** Counts streams that a change of INITIAL_WINDOW_SIZE makes this side examine. */
  countWindowLooks(looks: number, now: number): Http2Error | undefined {
    if (this.#windowLooks.take(now, looks)) return undefined;
    return connectionError('ENHANCE_YOUR_CALM', 'windows are changed too often');
  }
}
