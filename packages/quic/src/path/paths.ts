import { type CreateController, SendControl } from '@weir/congestion';
import type { RandomSource } from '@weir/base/random';
import { copyEndpoint, isSameAddress, isSameEndpoint, type IpEndpoint } from '@weir/base/ip';
import { MAX_PATHS, MIN_DATAGRAM } from '../limits.ts';
import { MtuSearch } from './mtu-search.ts';
import { Path } from './path.ts';

/** The options of the paths of a connection. */
export interface PathsOptions {
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
   * answers no challenge and is ignored.
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
    return new Path({
      remote: copyEndpoint(remote),
      local: local && copyEndpoint(local),
      control:
        from?.control ?? new SendControl(this.#congestion(MIN_DATAGRAM, random), MIN_DATAGRAM),
      mtu: from?.mtu ?? new MtuSearch({ most: maxDatagram }),
      random,
      validated,
    });
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
