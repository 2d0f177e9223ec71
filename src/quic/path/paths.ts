import type { AddressRules, Path } from './path.ts';

/** The paths of a connection: the one in use, and those that the peer has tried (RFC 9000 §9). */
export declare class Paths<Address> {
  constructor(options: {
    readonly role: 'client' | 'server';
    readonly rules: AddressRules<Address>;
    readonly first: Path<Address>;
    /** `from` is the path whose controls go on: only the port differs from it (§9.4). */
    readonly create: (
      remote: Address,
      local: Address | undefined,
      from: Path<Address> | undefined,
    ) => Path<Address>;
  });
  readonly active: Path<Address>;
  /** All paths, the active one first. */
  readonly all: readonly Path<Address>[];
  /**
   * The path of a datagram of the peer; a new one where need be, after a packet in it was authenticated.
   * `undefined`: the datagram is to be dropped (a client's server does not move; or before the handshake
   * is confirmed, §9).
   */
  of(remote: Address, local: Address | undefined, mayMigrate: boolean): Path<Address> | undefined;
  /**
   * The newest packet so far, with frames that do not just probe, came on this path: the peer has moved to it (§9.3).
   * Returns whether the path in use is another one now.
   */
  moveTo(path: Path<Address>, probeTimeout: number, now: number): boolean;
  /** When `onTimeout` is to be called; Infinity for not at all. */
  readonly timeout: number;
  /** 'moved' when the path in use is another one now, 'failed' when none is left (§9.3.2). */
  onTimeout(now: number): 'moved' | 'failed' | undefined;
  /** A PATH_RESPONSE on any path (§8.2.3). Returns the path that it validated. */
  onResponse(bytes: Uint8Array, at: number, now: number): Path<Address> | undefined;
}
