import type { NamedDeadlines } from '@weir/base/timers';
import type { LossDetection } from '../recovery/loss-detection.ts';
import { shownForeign } from '@weir/io/addresses';
import { printable } from '@weir/base/printable';
import type { CloseReason } from '../contract.ts';
import { type QuicError, TransportErrorCode } from '../errors.ts';
import {
  CLOSE_PROBE_TIMEOUTS,
  FIRST_CLOSE_INTERVAL,
  MAX_CLOSE_INTERVAL,
  MAX_REASON_BYTES,
} from '../limits.ts';
import {
  applicationCloseSize,
  connectionCloseSize,
  writeApplicationClose,
  writeConnectionClose,
} from '../wire/frame-writers.ts';
import type { IpEndpoint } from '@weir/base/ip';
import type { StreamEvent } from '../streams/stream.ts';
import type { DatagramFrames } from '../packets/datagram-frames.ts';
import type { Streams } from '../streams/streams.ts';

/**
 * The states of a connection, in order.
 *
 * - `handshaking`: the TLS handshake is not complete.
 * - `established`: the handshake is complete (RFC 9001 §4.1.1), but not confirmed.
 * - `confirmed`: the handshake is confirmed (§4.1.2).
 * - `closing`: this side has sent CONNECTION_CLOSE, and repeats it in response to packets (RFC 9000 §10.2.1).
 * - `draining`: the peer has sent CONNECTION_CLOSE; nothing is sent any more (§10.2.2).
 * - `closed`: the closing or draining state is over.
 */
export type LifecycleState =
  | 'handshaking'
  | 'established'
  | 'confirmed'
  | 'closing'
  | 'draining'
  | 'closed';

const NEXT: Readonly<Record<LifecycleState, readonly LifecycleState[]>> = {
  handshaking: ['established', 'closing', 'draining', 'closed'],
  established: ['confirmed', 'closing', 'draining', 'closed'],
  confirmed: ['closing', 'draining', 'closed'],
  closing: ['draining', 'closed'],
  draining: ['closed'],
  closed: [],
};

type TransitionListener = (from: LifecycleState, to: LifecycleState, now: number) => void;

/** The state of a connection, with the transitions that it may make. */
export class Lifecycle {
  readonly #onTransition: TransitionListener | undefined;
  #state: LifecycleState = 'handshaking';

  /** @param onTransition called after each transition, for a trace. */
  constructor(onTransition?: TransitionListener) {
    this.#onTransition = onTransition;
  }

  get state(): LifecycleState {
    return this.#state;
  }

  /** Whether neither side has closed the connection, so that frames are exchanged. */
  get isOpen(): boolean {
    return (
      this.#state === 'handshaking' || this.#state === 'established' || this.#state === 'confirmed'
    );
  }

  /** Whether streams may be used: the handshake is complete, and neither side has closed the connection. */
  get isEstablished(): boolean {
    return this.#state === 'established' || this.#state === 'confirmed';
  }

  get isConfirmed(): boolean {
    return this.#state === 'confirmed';
  }

  /** Changes to another state; returns false when the current one has no such transition. */
  go(to: LifecycleState, now: number): boolean {
    const from = this.#state;
    if (!NEXT[from].includes(to)) return false;
    this.#state = to;
    this.#onTransition?.(from, to, now);
    return true;
  }
}

/** The deadlines of the connection itself; those of its parts are kept by the parts. */
export const CONNECTION_DEADLINES = ['handshake', 'idle', 'keepAlive', 'pacing', 'close'] as const;

type ConnectionDeadline = (typeof CONNECTION_DEADLINES)[number];

type Deadlines = NamedDeadlines<ConnectionDeadline>;

/** The idle timeout is at least this many probe timeouts (RFC 9000 §10.1). */
const LEAST_PROBE_TIMEOUTS = 3;

/** Milliseconds without a packet of the peer after which memory allocated for a burst is freed. */
const PAUSE = 5000;

/** The idle timeout of a connection and the keep-alives that defer it (RFC 9000 §10.1). */
export class IdleTimeout {
  readonly #deadlines: Deadlines;
  readonly #loss: LossDetection;
  readonly #keepAlive: number;
  #timeout: number;
  /** Whether an ack-eliciting packet was sent since the last packet was received. */
  #hasSent = false;
  #receivedAt = Infinity;

  /** @param timeout milliseconds; 0 for none. @param keepAlive milliseconds; 0 for none. */
  constructor(deadlines: Deadlines, loss: LossDetection, timeout: number, keepAlive: number) {
    this.#deadlines = deadlines;
    this.#loss = loss;
    this.#timeout = timeout;
    this.#keepAlive = keepAlive;
  }

  /** Sets the peer's max_idle_timeout; the effective value is the minimum of both (§10.1). */
  setPeerTimeout(timeout: number): void {
    if (timeout === 0) return;
    this.#timeout = this.#timeout === 0 ? timeout : Math.min(this.#timeout, timeout);
  }

  /** Called when a packet was processed. */
  onReceived(now: number): void {
    this.#hasSent = false;
    if (now - this.#receivedAt >= PAUSE) this.#loss.trim(now);
    this.#receivedAt = now;
    this.#restart(now);
    if (this.#keepAlive > 0) this.#deadlines.set('keepAlive', now + this.#keepAliveInterval());
  }

  /** Called when an ack-eliciting packet was sent: the first one since a packet was received restarts the timer. */
  onSent(now: number): void {
    if (this.#hasSent) return;
    this.#hasSent = true;
    this.#restart(now);
  }

  #keepAliveInterval(): number {
    return this.#timeout === 0 ? this.#keepAlive : Math.min(this.#keepAlive, this.#timeout / 2);
  }

  #restart(now: number): void {
    if (this.#timeout === 0) return;
    const timeout = Math.max(this.#timeout, LEAST_PROBE_TIMEOUTS * this.#loss.probeTimeout());
    this.#deadlines.set('idle', now + timeout);
  }
}

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
  /** Whether CONNECTION_CLOSE is to be sent now. */
  isFrameDue = false;
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
    this.isFrameDue = true;
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
    this.isFrameDue = false;
    this.#wait('draining', now);
  }

  /** Ends the connection at once, without a packet. */
  end(reason: CloseReason, now: number): void {
    this.#reason ??= reason;
    this.isFrameDue = false;
    this.#deadlines.clearAll();
    this.#lifecycle.go('closed', now);
  }

  /** Handles a packet in the closing state: the peer may not have received the frame (§10.2.1). */
  onPacket(): void {
    this.#received++;
    if (this.#received < this.#interval) return;
    this.#received = 0;
    this.#interval = Math.min(this.#interval * 2, MAX_CLOSE_INTERVAL);
    this.isFrameDue = true;
  }

  onFrameSent(): void {
    this.isFrameDue = false;
  }

  /** Ends the closing or draining state. */
  onTimeout(now: number): void {
    this.#deadlines.clearAll();
    this.isFrameDue = false;
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

/** An event of a connection, for its driver; see `QuicCore.nextEvent`. */
export type ConnectionEvent =
  | StreamEvent
  /** The handshake is complete (RFC 9001 §4.1.1): streams and datagrams may be used, and the peer is authenticated. */
  | { readonly kind: 'established' }
  /**
   * The handshake is confirmed (§4.1.2). From now on the peer uses only ids that were issued to it: a server's endpoint
   * forgets the id that the client had chosen.
   */
  | { readonly kind: 'confirmed' }
  /** A DATAGRAM frame was received; the handler owns its bytes. */
  | { readonly kind: 'datagram'; readonly data: Uint8Array }
  /** The peer has migrated to another address, which is validated (RFC 9000 §9). */
  | { readonly kind: 'migrated'; readonly remote: IpEndpoint }
  /** A token for the client's next connection to this server (§8.1.3). */
  | { readonly kind: 'token'; readonly token: Uint8Array }
  /** The connection has ended for the application; it still responds to late packets for some time. */
  | { readonly kind: 'closed'; readonly reason: CloseReason }
  /** The last event: nothing is sent or received any more (§10.2), and the connection can be released. */
  | { readonly kind: 'drained' };

/** Events of the connection itself. At most one of each kind is queued: a later one replaces it. */
type OwnEvent = Extract<
  ConnectionEvent,
  { readonly kind: 'established' | 'confirmed' | 'migrated' | 'token' }
>;

/**
 * The events of a connection: first events of the handshake and of paths, then streams and datagrams, then the
 * end.
 */
export class EventQueue {
  readonly #streams: Streams;
  readonly #datagrams: DatagramFrames;
  readonly #closing: Closing;
  readonly #lifecycle: Lifecycle;
  readonly #own: OwnEvent[] = [];
  #reported: 'nothing' | 'closed' | 'drained' = 'nothing';

  constructor(streams: Streams, datagrams: DatagramFrames, closing: Closing, lifecycle: Lifecycle) {
    this.#streams = streams;
    this.#datagrams = datagrams;
    this.#closing = closing;
    this.#lifecycle = lifecycle;
  }

  push(event: OwnEvent): void {
    const before = this.#own.findIndex(({ kind }) => kind === event.kind);
    if (before < 0) this.#own.push(event);
    else this.#own[before] = event;
  }

  next(): ConnectionEvent | undefined {
    if (this.#own.length > 0) return this.#own.shift();
    const event = this.#streams.nextEvent();
    if (event !== undefined) return event;
    const data = this.#datagrams.next();
    if (data !== undefined) return { kind: 'datagram', data };
    return this.#end();
  }

  #end(): ConnectionEvent | undefined {
    const { reason } = this.#closing;
    if (reason === undefined) return undefined;
    if (this.#reported === 'nothing') {
      this.#reported = 'closed';
      return { kind: 'closed', reason };
    }
    if (this.#reported === 'drained' || this.#lifecycle.state !== 'closed') return undefined;
    this.#reported = 'drained';
    return { kind: 'drained' };
  }
}
