import { MAX_PATHS } from './limits.ts';
import type { Path } from './path.ts';

/** Compares addresses, of which this folder knows nothing else. */
export interface AddressRules<Address> {
  isSame(one: Address, other: Address): boolean;
  /** Whether they differ in the port at most. */
  isSameHost(one: Address, other: Address): boolean;
  /** A copy that stays as it is. */
  copy(address: Address): Address;
}

/** What the paths of a connection are made of. */
export interface PathsOptions<Address> {
  readonly role: 'client' | 'server';
  readonly rules: AddressRules<Address>;
  readonly first: Path<Address>;
  /**
   * Makes a path, not validated. `from` is the one whose controls and MTU go on, because only the port
   * differs from it: most likely a NAT has forgotten its mapping (RFC 9000 §9.4).
   */
  readonly create: (
    remote: Address,
    local: Address | undefined,
    from: Path<Address> | undefined,
  ) => Path<Address>;
}

/** The paths of a connection: the one in use, and those that the peer has tried or left (RFC 9000 §9). */
export class Paths<Address> {
  readonly #role: 'client' | 'server';
  readonly #rules: AddressRules<Address>;
  readonly #create: PathsOptions<Address>['create'];
  /** The one in use first, then the newest first. */
  readonly #paths: [Path<Address>, ...Path<Address>[]];
  /** The validated path to return to if that in use proves not to be valid (§9.3.2). */
  #fallback: Path<Address> | undefined;

  constructor(options: PathsOptions<Address>) {
    this.#role = options.role;
    this.#rules = options.rules;
    this.#create = options.create;
    this.#paths = [options.first];
  }

  /** The path in use. */
  get active(): Path<Address> {
    return this.#paths[0];
  }

  /** All paths, the one in use first. */
  get all(): readonly Path<Address>[] {
    return this.#paths;
  }

  /** When `onTimeout` is to be called; Infinity for not at all. */
  get timeout(): number {
    let earliest = Infinity;
    for (const path of this.#paths) earliest = Math.min(earliest, path.timeout);
    return earliest;
  }

  /** The path between these addresses, if it is known. */
  find(remote: Address, local: Address | undefined): Path<Address> | undefined {
    for (const path of this.#paths) if (this.#joins(path, remote, local)) return path;
    return undefined;
  }

  /**
   * The path on which an authenticated packet arrived; it is a new one where need be.
   *
   * @param mayMigrate whether the handshake is confirmed (§9).
   * @returns `undefined` when the packet is to be dropped: only clients move, and not before that.
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
   * The newest packet so far, one that does not just probe, arrived on this path: the peer has moved to
   * it (§9.3). A path that is not validated is validated now, and so is the one before it, in case that
   * an attacker has forwarded packets from elsewhere (§9.3.3).
   *
   * @param probeTimeout of the path in use so far.
   * @returns whether the path in use is another one now.
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
   * Sends challenges again and abandons validations.
   * @returns 'moved' when the path in use is another one now, 'failed' when no valid one is left (§9.3.2).
   */
  onTimeout(now: number): 'moved' | 'failed' | undefined {
    let result: 'moved' | 'failed' | undefined;
    // A copy, because paths are removed on the way.
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
        // A path that was valid before has merely become silent: that is for the idle timeout.
      } else if (path !== this.#fallback) {
        this.#remove(path);
      }
    }
    return result;
  }

  /**
   * A PATH_RESPONSE arrived, on whichever path (§8.2.3). Returns the path that it validated; `undefined` when
   * it answers no challenge, which is ignored.
   */
  onResponse(bytes: Uint8Array, at: number, now: number): Path<Address> | undefined {
    const path = this.#paths.find((one) => one.onResponse(bytes, at, now));
    if (path === this.active && !path.isValidating) this.#fallback = undefined;
    return path;
  }

  #joins(path: Path<Address>, remote: Address, local: Address | undefined): boolean {
    if (!this.#rules.isSame(path.remote, remote)) return false;
    // A client's own address changes without its doing.
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
