import { MAX_PATHS } from './limits.ts';
import type { Path } from './path.ts';

/** Compares and copies addresses, whose type is a parameter of this folder. */
export interface AddressRules<Address> {
  isSame(one: Address, other: Address): boolean;
  /** Whether two addresses are equal except for the port. */
  isSameHost(one: Address, other: Address): boolean;
  /** Returns a copy that does not change. */
  copy(address: Address): Address;
}

/** The parts of `Paths`. */
export interface PathsOptions<Address> {
  readonly role: 'client' | 'server';
  readonly rules: AddressRules<Address>;
  readonly first: Path<Address>;
  /**
   * Creates a path that is not validated. The path takes over congestion control and MTU of `from`, from which it
   * differs only in the port: most likely a NAT rebinding (RFC 9000 §9.4).
   */
  readonly create: (
    remote: Address,
    local: Address | undefined,
    from: Path<Address> | undefined,
  ) => Path<Address>;
}

/** The paths of a connection: the active one, and those that the peer has probed or left (RFC 9000 §9). */
export class Paths<Address> {
  readonly #role: 'client' | 'server';
  readonly #rules: AddressRules<Address>;
  readonly #create: PathsOptions<Address>['create'];
  /** All paths: the active one, then the others, newest first. */
  readonly #paths: [Path<Address>, ...Path<Address>[]];
  /** The validated path to revert to if the validation of the active path fails (§9.3.2). */
  #fallback: Path<Address> | undefined;

  constructor(options: PathsOptions<Address>) {
    this.#role = options.role;
    this.#rules = options.rules;
    this.#create = options.create;
    this.#paths = [options.first];
  }

  /** The active path. */
  get active(): Path<Address> {
    return this.#paths[0];
  }

  /** All paths, the active one first. */
  get all(): readonly Path<Address>[] {
    return this.#paths;
  }

  /** Time at which to call `onTimeout`; Infinity for never. */
  get timeout(): number {
    let earliest = Infinity;
    for (const path of this.#paths) earliest = Math.min(earliest, path.timeout);
    return earliest;
  }

  /** Returns the path between these addresses, if any. */
  find(remote: Address, local: Address | undefined): Path<Address> | undefined {
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
  of(remote: Address, local: Address | undefined, mayMigrate: boolean): Path<Address> | undefined {
    const known = this.find(remote, local);
    if (known !== undefined || this.#role === 'client' || !mayMigrate) return known;
    const { active } = this;
    const keeps = this.#rules.isSameHost(remote, active.remote) && this.#isLocal(active, local);
    const path = this.#create(
      this.#rules.copy(remote),
      local === undefined ? undefined : this.#rules.copy(local),
      keeps ? active : undefined,
    );
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
  moveTo(path: Path<Address>, probeTimeout: number, now: number): boolean {
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
  onResponse(bytes: Uint8Array, at: number, now: number): Path<Address> | undefined {
    const path = this.#paths.find((one) => one.onResponse(bytes, at, now));
    if (path === this.active && !path.isValidating) this.#fallback = undefined;
    return path;
  }

  #joins(path: Path<Address>, remote: Address, local: Address | undefined): boolean {
    if (!this.#rules.isSame(path.remote, remote)) return false;
    // The local address of a client may change without its knowledge.
    return this.#role === 'client' || this.#isLocal(path, local);
  }

  #isLocal(path: Path<Address>, local: Address | undefined): boolean {
    if (path.local === undefined || local === undefined) return true;
    return this.#rules.isSame(path.local, local);
  }

  #use(path: Path<Address>): void {
    this.active.mtu.abandonProbe();
    this.#remove(path);
    this.#paths.unshift(path);
  }

  #dropOldest(): void {
    const oldest = this.#paths.findLast((path) => path !== this.active && path !== this.#fallback);
    if (oldest !== undefined) this.#remove(oldest);
  }

  #remove(path: Path<Address>): void {
    const index = this.#paths.indexOf(path);
    if (index >= 0) this.#paths.splice(index, 1);
  }
}
