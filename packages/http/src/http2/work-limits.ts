import { RateLimit } from '@weir/io/pace';
import { connectionError, type Http2Error } from './errors.ts';
import {
  IDLE_FRAME_BURST,
  IDLE_FRAME_RATE,
  RESET_BURST,
  RESET_RATE,
  STREAM_WORK,
  UNPROVEN_RESETS,
  UNPROVEN_WORK_A_TURN,
  WINDOW_LOOK_BURST,
  WINDOW_LOOK_RATE,
  WORK_A_TURN,
} from '../limits.ts';

/** Limits the work that a peer may cause: over time, with an error beyond the limit, and per turn. */
export class WorkLimits {
  #resets: RateLimit;
  readonly #windowLooks = new RateLimit(WINDOW_LOOK_RATE, WINDOW_LOOK_BURST);
  readonly #idle = new RateLimit(IDLE_FRAME_RATE, IDLE_FRAME_BURST);
  readonly #pings = new RateLimit(IDLE_FRAME_RATE, IDLE_FRAME_BURST);
  /** Whether the larger limits apply to the peer. */
  isProven: boolean;
  /** The time of the current turn in milliseconds. */
  #now = 0;
  /** Work caused by the frames of the current turn. */
  #work = 0;

  /** @param isProven whether this side has chosen the peer, as a client has chosen its server. */
  constructor(isProven: boolean) {
    this.isProven = isProven;
    this.#resets = isProven
      ? new RateLimit(RESET_RATE, RESET_BURST)
      : new RateLimit(0, UNPROVEN_RESETS);
  }

  /** Called when a stream of the peer is served: the larger limits then apply. */
  prove(): void {
    if (this.isProven) return;
    this.isProven = true;
    this.#resets = new RateLimit(RESET_RATE, RESET_BURST);
  }

  beginTurn(now: number): void {
    this.#now = now;
    this.#work = 0;
  }

  /** Counts a stream that is opened, refused or reset in this turn. */
  addStream(): void {
    this.#work += STREAM_WORK;
  }

  /**
   * Whether the work of the turn is used up.
   *
   * @param touched number of streams whose readers will be called in this turn.
   */
  isTurnSpent(touched: number): boolean {
    return this.#work + touched >= (this.isProven ? WORK_A_TURN : UNPROVEN_WORK_A_TURN);
  }

  /** Counts the reset of a stream that was not served; returns an error if there are too many. */
  countReset(): Http2Error | undefined {
    if (this.#resets.take(this.#now)) return undefined;
    return connectionError('ENHANCE_YOUR_CALM', 'too many streams are reset');
  }

  /**
   * Counts streams that are examined because of a change of INITIAL_WINDOW_SIZE; returns an error if there are too
   * many.
   */
  countWindowLooks(looks: number): Http2Error | undefined {
    if (this.#windowLooks.take(this.#now, looks)) return undefined;
    return connectionError('ENHANCE_YOUR_CALM', 'windows are changed too often');
  }
  /** Counts a frame without data; returns an error if there are too many. */
  countIdle(): Http2Error | undefined {
    return this.#idle.take(this.#now) ? undefined : flooded();
  }

  /** Counts a PING; returns an error if there are too many. */
  countPing(): Http2Error | undefined {
    return this.#pings.take(this.#now) ? undefined : flooded();
  }

  /** Counts a DATA frame with payload, which allows another PING. */
  countData(): void {
    this.#pings.giveBack();
  }
}

const flooded = (): Http2Error =>
  connectionError('ENHANCE_YOUR_CALM', 'too many frames that carry nothing');
