import { INITIAL_RTT, type SendControl } from '@weir/congestion';
import type { RandomSource } from '@weir/base/random';
import { copyOf } from '@weir/base/bytes';
import { MAX_CHALLENGES, MAX_RESPONSES } from '../limits.ts';
import type { IpEndpoint } from '@weir/base/ip';
import type { MtuSearch } from './mtu-search.ts';

/** The anti-amplification limit: bytes sent to an unvalidated address per byte received (RFC 9000 §8). */
const AMPLIFICATION = 3;
const DATA_SIZE = 8;
/** Probe timeouts after which a validation is abandoned (§8.2.4). */
const ABANDONED_AFTER = 3;
/** The probe timeout of a new path (RFC 9002 §6.2.2). */
const INITIAL_PROBE_TIMEOUT = 3 * INITIAL_RTT;

interface Challenge {
  readonly data: Uint8Array;
  readonly expanded: boolean;
}

/** The options of a path. */
interface PathOptions {
  readonly remote: IpEndpoint;
  /** The local address, if it is known. */
  readonly local: IpEndpoint | undefined;
  readonly control: SendControl;
  readonly mtu: MtuSearch;
  readonly random: RandomSource;
  readonly validated: boolean;
}

/** A path: its addresses, the validation of the peer's address, and the congestion control and MTU of the path. */
export class Path {
  readonly remote: IpEndpoint;
  readonly local: IpEndpoint | undefined;
  readonly control: SendControl;
  readonly mtu: MtuSearch;
  readonly #random: RandomSource;
  #isValidated: boolean;
  #received = 0;
  #sent = 0;

  /** Whether a validation is in progress. */
  #isValidating = false;
  #deadline = Infinity;
  #resendAt = Infinity;
  #interval = INITIAL_RTT;
  #probeTimeout = INITIAL_PROBE_TIMEOUT;
  #due: Uint8Array | undefined;
  /** Unanswered challenges, the oldest first. */
  readonly #challenges: Challenge[] = [];
  /** Data of the peer's challenges that is to be returned. */
  readonly #responses: Uint8Array[] = [];

  constructor(options: PathOptions) {
    this.remote = options.remote;
    this.local = options.local;
    this.control = options.control;
    this.mtu = options.mtu;
    this.#random = options.random;
    this.#isValidated = options.validated;
  }

  /** Whether the peer has proven that it receives packets at this address (RFC 9000 §8). */
  get isValidated(): boolean {
    return this.#isValidated;
  }

  /** Bytes that may be sent: up to three times those received until it is validated, then Infinity (§8.1). */
  get amplificationBudget(): number {
    if (this.#isValidated) return Infinity;
    return Math.max(0, AMPLIFICATION * this.#received - this.#sent);
  }

  /** Called when a datagram was received on this path; all of its bytes count (§8.1). */
  onReceived(bytes: number): void {
    this.#received += bytes;
  }

  /** Called when a datagram was sent on this path. */
  onSent(bytes: number): void {
    this.#sent += bytes;
  }

  /** Marks the address as validated by the handshake or a token (§8.1). */
  validate(): void {
    this.#isValidated = true;
  }

  get isValidating(): boolean {
    return this.#isValidating;
  }

  /** Time at which to call `onTimeout`; Infinity for never. */
  get timeout(): number {
    return Math.min(this.#deadline, this.#resendAt);
  }

  /**
   * Starts a validation; does nothing if one is in progress (§8.2.1).
   * @param probeTimeout the probe timeout of the active path, in milliseconds.
   */
  startValidation(probeTimeout: number, now: number): void {
    if (this.#isValidating) return;
    this.#isValidating = true;
    this.#probeTimeout = probeTimeout;
    this.#interval = Math.max(probeTimeout, INITIAL_RTT);
    this.#deadline = now + ABANDONED_AFTER * Math.max(probeTimeout, INITIAL_PROBE_TIMEOUT);
    this.#challenges.length = 0;
    this.#due = this.#random.bytes(DATA_SIZE);
  }

  /** Schedules another challenge, or returns 'failed' if the validation is abandoned (§8.2.4). */
  onTimeout(now: number): 'failed' | undefined {
    if (now >= this.#deadline) {
      this.#stop();
      return 'failed';
    }
    if (now >= this.#resendAt) {
      this.#resendAt = Infinity;
      // Each challenge has data of its own, so that a response can be associated with it (§8.2.1).
      this.#due = this.#random.bytes(DATA_SIZE);
    }
    return undefined;
  }

  /** The data of the PATH_CHALLENGE to send on this path, unchanged until `onChallengeSent`. */
  get challengeDue(): Uint8Array | undefined {
    return this.#due;
  }

  /**
   * Called when the challenge was sent.
   * @param expanded whether its datagram had at least 1,200 bytes (§8.2.1).
   */
  onChallengeSent(expanded: boolean, now: number): void {
    if (this.#due === undefined) return;
    if (this.#challenges.length === MAX_CHALLENGES) this.#challenges.shift();
    this.#challenges.push({ data: this.#due, expanded });
    this.#due = undefined;
    this.#resendAt = now + this.#interval;
    this.#interval *= 2;
  }

  /** Handles a PATH_RESPONSE that arrived on any path (§8.2.3). Returns whether it answers a challenge of this path. */
  onResponse(bytes: Uint8Array, at: number, now: number): boolean {
    const answered = this.#challenges.find(({ data }) => isSameData(data, bytes, at));
    if (answered === undefined) return false;
    this.#isValidated = true;
    this.#stop();
    // The address is valid; that the path supports 1,200 bytes must still be validated (§8.2.3).
    if (!answered.expanded) this.startValidation(this.#probeTimeout, now);
    return true;
  }

  /** Handles a PATH_CHALLENGE on this path: the response must be sent on the same path (§8.2.2). */
  onChallenge(bytes: Uint8Array, at: number): void {
    if (this.#responses.length === MAX_RESPONSES) this.#responses.shift();
    this.#responses.push(copyOf(bytes, at, at + DATA_SIZE));
  }

  /** Takes the data of the PATH_RESPONSE to send on this path. */
  get responseDue(): Uint8Array | undefined {
    return this.#responses[0];
  }

  onResponseSent(): void {
    this.#responses.shift();
  }

  #stop(): void {
    this.#isValidating = false;
    this.#deadline = Infinity;
    this.#resendAt = Infinity;
    this.#due = undefined;
    this.#challenges.length = 0;
  }
}

function isSameData(data: Uint8Array, bytes: Uint8Array, at: number): boolean {
  for (let i = 0; i < DATA_SIZE; i++) if (data[i] !== bytes[at + i]) return false;
  return true;
}
