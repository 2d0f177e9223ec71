import { shownForeign } from '@weir/io/addresses';
import { printable } from '@weir/base/printable';
import type { Lifecycle, Deadlines } from './lifecycle.ts';
import type { CloseReason } from '../contract.ts';
import type { LossDetection } from '../recovery/loss-detection.ts';
import { type QuicError, TransportErrorCode } from '../errors.ts';
import {
  CLOSE_PROBE_TIMEOUTS,
  FIRST_CLOSE_INTERVAL,
  MAX_CLOSE_INTERVAL,
  MAX_REASON_BYTES,
} from '../limits.ts';
import { applicationCloseSize, connectionCloseSize } from '../wire/frame-writers.ts';
import { writeApplicationClose, writeConnectionClose } from '../wire/frame-writers.ts';

const { APPLICATION_ERROR } = TransportErrorCode;

const NOTHING = new Uint8Array(0);

/** Returns a reason phrase for messages: characters that are not printable are escaped, invalid UTF-8 is replaced. */
const textOf = (bytes: Uint8Array): string =>
  shownForeign(printable(Buffer.from(bytes.subarray(0, MAX_REASON_BYTES)).toString()));

/** Encodes at most `MAX_REASON_BYTES` of UTF-8, truncated between characters. */
function encodeReason(reason: string): Uint8Array {
  const bytes = new Uint8Array(MAX_REASON_BYTES);
  const { written } = new TextEncoder().encodeInto(reason, bytes);
  return bytes.subarray(0, written);
}

/**
 * The end of a connection (RFC 9000 §10): the reason, the sending of CONNECTION_CLOSE, and the duration of the closing
 * and draining states.
 */
export class Closing {
  readonly #lifecycle: Lifecycle;
  readonly #deadlines: Deadlines;
  readonly #loss: LossDetection;
  #reason: CloseReason | undefined;
  #text: Uint8Array = NOTHING;
  #frameType = 0;
  #isFrameDue = false;
  /** Packets to receive before CONNECTION_CLOSE is sent again. */
  #interval = FIRST_CLOSE_INTERVAL;
  #received = 0;

  constructor(lifecycle: Lifecycle, deadlines: Deadlines, loss: LossDetection) {
    this.#lifecycle = lifecycle;
    this.#deadlines = deadlines;
    this.#loss = loss;
  }

  /** The reason why the connection has ended; `undefined` while it has not. */
  get reason(): CloseReason | undefined {
    return this.#reason;
  }

  /** Whether CONNECTION_CLOSE is to be sent now. */
  get isFrameDue(): boolean {
    return this.#isFrameDue;
  }

  /** Closes with a transport error of either side. */
  fail(error: QuicError, now: number): void {
    this.#frameType = error.frameType;
    this.#begin('transport', error.code, error.reason, now);
  }

  /** Closes at the request of the application. */
  closeByApplication(code: number, reason: string, now: number): void {
    this.#begin('application', code, reason, now);
  }

  #begin(kind: 'application' | 'transport', code: number, reason: string, now: number): void {
    if (!this.#lifecycle.isOpen) return;
    this.#text = encodeReason(reason);
    this.#reason = { kind, by: 'self', code, reason: textOf(this.#text) };
    this.#isFrameDue = true;
    this.#wait('closing', now);
  }

  /** Handles a CONNECTION_CLOSE frame: the draining state begins (§10.2.2). */
  onPeerClose(
    kind: 'application' | 'transport',
    code: number,
    reason: Uint8Array,
    now: number,
  ): void {
    this.#reason ??= { kind, by: 'peer', code, reason: textOf(reason) };
    this.#isFrameDue = false;
    this.#wait('draining', now);
  }

  /** Ends the connection at once, without a packet. */
  end(reason: CloseReason, now: number): void {
    this.#reason ??= reason;
    this.#isFrameDue = false;
    this.#deadlines.clearAll();
    this.#lifecycle.go('closed', now);
  }

  /** Handles a packet in the closing state: the peer may not have received the frame (§10.2.1). */
  onPacket(): void {
    this.#received++;
    if (this.#received < this.#interval) return;
    this.#received = 0;
    this.#interval = Math.min(this.#interval * 2, MAX_CLOSE_INTERVAL);
    this.#isFrameDue = true;
  }

  onFrameSent(): void {
    this.#isFrameDue = false;
  }

  /** Ends the closing or draining state. */
  onTimeout(now: number): void {
    this.#deadlines.clearAll();
    this.#isFrameDue = false;
    this.#lifecycle.go('closed', now);
  }

  /**
   * Writes CONNECTION_CLOSE. In Initial and Handshake packets an application close MUST be replaced by a transport
   * close with APPLICATION_ERROR and no reason, because they may reveal application state (§10.2.3).
   *
   * @returns the offset after it; `at` when it does not fit.
   */
  writeFrame(out: Uint8Array, at: number, limit: number, isOneRtt: boolean): number {
    const reason = this.#reason;
    if (reason === undefined) return at;
    if (reason.kind === 'application' && isOneRtt) {
      const size = applicationCloseSize(reason.code, this.#text.length);
      return at + size > limit ? at : writeApplicationClose(out, at, reason.code, this.#text);
    }
    const isHidden = reason.kind === 'application';
    const code = isHidden ? APPLICATION_ERROR : reason.code;
    const text = isHidden ? NOTHING : this.#text;
    const size = connectionCloseSize(code, this.#frameType, text.length);
    return at + size > limit ? at : writeConnectionClose(out, at, code, this.#frameType, text);
  }

  #wait(state: 'closing' | 'draining', now: number): void {
    if (!this.#lifecycle.go(state, now)) return;
    this.#deadlines.clearAll();
    this.#deadlines.set('close', now + CLOSE_PROBE_TIMEOUTS * this.#loss.probeTimeout());
  }
}
