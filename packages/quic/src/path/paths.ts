import { type CreateController, SendControl, INITIAL_RTT } from '@weir/congestion';
import type { RandomSource } from '@weir/base/random';
import { copyEndpoint, isSameAddress, isSameEndpoint, type IpEndpoint } from '@weir/base/ip';
import { MAX_PATHS, MIN_DATAGRAM, MAX_CHALLENGES, MAX_RESPONSES } from '../limits.ts';
import { MtuSearch } from './mtu-search.ts';
import { copyOf } from '@weir/base/bytes';

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
  isValidating = false;
  #deadline = Infinity;
  #resendAt = Infinity;
  #interval = INITIAL_RTT;
  #probeTimeout = INITIAL_PROBE_TIMEOUT;
  /** The data of the PATH_CHALLENGE to send on this path, unchanged until `onChallengeSent`. */
  challengeDue: Uint8Array | undefined;
  /** Unanswered challenges, the oldest first. */
  readonly #challenges: Challenge[] = [];
  /** Data of the peer's challenges that is to be returned. */
  readonly #responses: Uint8Array[] = [];

  /** @param local the local address, if it is known. */
  constructor(
    remote: IpEndpoint,
    local: IpEndpoint | undefined,
    control: SendControl,
    mtu: MtuSearch,
    random: RandomSource,
    isValidated: boolean,
  ) {
    this.remote = remote;
    this.local = local;
    this.control = control;
    this.mtu = mtu;
    this.#random = random;
    this.#isValidated = isValidated;
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

  /** Time at which to call `onTimeout`; Infinity for never. */
  get timeout(): number {
    return Math.min(this.#deadline, this.#resendAt);
  }

  /**
   * Starts a validation; does nothing if one is in progress (§8.2.1).
   * @param probeTimeout the probe timeout of the active path, in milliseconds.
   */
  startValidation(probeTimeout: number, now: number): void {
    if (this.isValidating) return;
    this.isValidating = true;
    this.#probeTimeout = probeTimeout;
    this.#interval = Math.max(probeTimeout, INITIAL_RTT);
    this.#deadline = now + ABANDONED_AFTER * Math.max(probeTimeout, INITIAL_PROBE_TIMEOUT);
    this.#challenges.length = 0;
    this.challengeDue = this.#random.bytes(DATA_SIZE);
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
      this.challengeDue = this.#random.bytes(DATA_SIZE);
    }
    return undefined;
  }

  /**
   * Called when the challenge was sent.
   * @param expanded whether its datagram had at least 1,200 bytes (§8.2.1).
   */
  onChallengeSent(expanded: boolean, now: number): void {
    if (this.challengeDue === undefined) return;
    if (this.#challenges.length === MAX_CHALLENGES) this.#challenges.shift();
    this.#challenges.push({ data: this.challengeDue, expanded });
    this.challengeDue = undefined;
    this.#resendAt = now + this.#interval;
    this.#interval *= 2;
  }

  /** Handles a PATH_RESPONSE that arrived on any path (§8.2.3). Returns whether it matches a challenge of this path. */
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
    this.isValidating = false;
    this.#deadline = Infinity;
    this.#resendAt = Infinity;
    this.challengeDue = undefined;
    this.#challenges.length = 0;
  }
}

function isSameData(data: Uint8Array, bytes: Uint8Array, at: number): boolean {
  for (let i = 0; i < DATA_SIZE; i++) if (data[i] !== bytes[at + i]) return false;
  return true;
}

/** The options of the paths of a connection. */
interface PathsOptions {
  readonly role: 'client' | 'server';
  readonly remote: IpEndpoint;
  readonly local: IpEndpoint | undefined;
  /** Whether the address of the first path is validated. */
  readonly validated: boolean;
  /** See `ConnectionSettings`. */
  readonly maxDatagram: number;
  readonly congestion: CreateController;
  readonly random: RandomSource;
}

/** The paths of a connection: the active one, and those that the peer has probed or left (RFC 9000 §9). */
export class Paths {
  readonly #options: PathsOptions;
  #congestion: CreateController;
  /** All paths: the active one, then the others, newest first. */
  readonly #paths: [Path, ...Path[]];
  /** The validated path to revert to if the validation of the active path fails (§9.3.2). */
  #fallback: Path | undefined;

  constructor(options: PathsOptions) {
    const { remote, local, validated } = options;
    this.#options = options;
    this.#congestion = options.congestion;
    this.#paths = [this.#create(remote, local, undefined, validated)];
  }

  /** The active path. */
  get active(): Path {
    return this.#paths[0];
  }

  /** All paths, the active one first. */
  get all(): readonly Path[] {
    return this.#paths;
  }

  /** Time at which to call `onTimeout`; Infinity for never. */
  get timeout(): number {
    let earliest = Infinity;
    for (const path of this.#paths) earliest = Math.min(earliest, path.timeout);
    return earliest;
  }

  /** Returns the path between these addresses, if any. */
  find(remote: IpEndpoint, local: IpEndpoint | undefined): Path | undefined {
    for (const path of this.#paths) if (this.#joins(path, remote, local)) return path;
    return undefined;
  }

  /**
   * Returns the path on which an authenticated packet arrived; creates it if there is none.
   *
   * @param mayMigrate whether the handshake is confirmed (§9).
   * @returns `undefined` if the packet must be dropped: only clients migrate, and only after the handshake is
   * confirmed.
   */
  of(remote: IpEndpoint, local: IpEndpoint | undefined, mayMigrate: boolean): Path | undefined {
    const known = this.find(remote, local);
    if (known !== undefined || this.#options.role === 'client' || !mayMigrate) return known;
    const { active } = this;
    const keeps = isSameAddress(remote, active.remote) && this.#isLocal(active, local);
    const path = this.#create(remote, local, keeps ? active : undefined, false);
    if (this.#paths.length >= MAX_PATHS) this.#dropOldest();
    this.#paths.splice(1, 0, path);
    return path;
  }

  /**
   * Called when the highest-numbered non-probing packet arrived on this path: the peer has migrated to it (§9.3).
   * Starts the validation of a path that is not validated, and of the previous one, in case an attacker has forwarded
   * packets from elsewhere (§9.3.3).
   *
   * @param probeTimeout the probe timeout of the previous path.
   * @returns whether the active path has changed.
   */
  moveTo(path: Path, probeTimeout: number, now: number): boolean {
    const previous = this.active;
    if (path === previous) return false;
    if (previous.isValidated) {
      this.#fallback = previous;
      previous.startValidation(probeTimeout, now);
    }
    this.#use(path);
    if (path.isValidated) this.#fallback = undefined;
    else path.startValidation(probeTimeout, now);
    return true;
  }

  /**
   * Repeats challenges and abandons validations.
   * @returns 'moved' if the active path has changed, 'failed' if no validated path is left (§9.3.2).
   */
  onTimeout(now: number): 'moved' | 'failed' | undefined {
    let result: 'moved' | 'failed' | undefined;
    // A copy, because the loop removes paths.
    for (const path of this.#paths.slice()) {
      if (path.timeout > now || path.onTimeout(now) !== 'failed') continue;
      if (path === this.active) {
        if (this.#fallback !== undefined) {
          this.#use(this.#fallback);
          this.#fallback = undefined;
          this.#remove(path);
          result = 'moved';
        } else if (!path.isValidated) {
          return 'failed';
        }
        // A path that was valid before is only silent: the idle timeout handles that.
      } else if (path !== this.#fallback) {
        this.#remove(path);
      }
    }
    return result;
  }

  /**
   * Handles a PATH_RESPONSE that arrived on any path (§8.2.3). Returns the path that it validated; `undefined` if it
   * matches no challenge and is ignored.
   */
  onResponse(bytes: Uint8Array, at: number, now: number): Path | undefined {
    const path = this.#paths.find((one) => one.onResponse(bytes, at, now));
    if (path === this.active && !path.isValidating) this.#fallback = undefined;
    return path;
  }

  /** Uses another congestion controller on the active path, and on paths created later. */
  useController(create: CreateController): void {
    const { active } = this;
    this.#congestion = create;
    active.control.use(create(active.mtu.current, this.#options.random));
  }

  /**
   * Creates a path.
   * @param from the path whose congestion control and MTU continue, since the addresses differ only in the port: most
   * likely a NAT rebinding (§9.4).
   */
  #create(
    remote: IpEndpoint,
    local: IpEndpoint | undefined,
    from: Path | undefined,
    validated: boolean,
  ): Path {
    const { random, maxDatagram } = this.#options;
    return new Path(
      copyEndpoint(remote),
      local && copyEndpoint(local),
      from?.control ?? new SendControl(this.#congestion(MIN_DATAGRAM, random), MIN_DATAGRAM),
      from?.mtu ?? new MtuSearch(maxDatagram),
      random,
      validated,
    );
  }

  #joins(path: Path, remote: IpEndpoint, local: IpEndpoint | undefined): boolean {
    if (!isSameEndpoint(path.remote, remote)) return false;
    // The local address of a client may change without its knowledge.
    return this.#options.role === 'client' || this.#isLocal(path, local);
  }

  #isLocal(path: Path, local: IpEndpoint | undefined): boolean {
    if (path.local === undefined || local === undefined) return true;
    return isSameEndpoint(path.local, local);
  }

  #use(path: Path): void {
    this.active.mtu.abandonProbe();
    this.#remove(path);
    this.#paths.unshift(path);
  }

  #dropOldest(): void {
    const oldest = this.#paths.findLast((path) => path !== this.active && path !== this.#fallback);
    if (oldest !== undefined) this.#remove(oldest);
  }

  #remove(path: Path): void {
    const index = this.#paths.indexOf(path);
    if (index >= 0) this.#paths.splice(index, 1);
  }
}
