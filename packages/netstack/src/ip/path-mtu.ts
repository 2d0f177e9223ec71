import { blankEndpoint, assignEndpoint, isSameAddress, type IpEndpoint } from '@weir/base/ip';
import { hashAddress } from './address-hash.ts';
import { MAX_PATH_MTUS, MIN_PATH_MTU_IPV4, PATH_MTU_LIFETIME_MS } from '../limits.ts';
import { IcmpQuote, readQuote, type IcmpMessage } from '../wire/icmp.ts';
import { MIN_IPV6_MTU } from '../wire/ipv6.ts';

/** The result of a "too big" message. */
export type PathMtuOutcome =
  | 'lowered'
  | 'not lower'
  | 'below the minimum'
  | 'unreadable quote'
  | 'not of a packet of ours';

interface Path {
  readonly destination: IpEndpoint;
  mtu: number;
  expiresAt: number;
}

/** Common MTUs (RFC 1191 §7.1), for routers that do not report theirs. */
const PLATEAUS = [32_000, 17_914, 8166, 4352, 2002, 1492, 1006, MIN_PATH_MTU_IPV4];

/**
 * The MTUs of paths on which a packet was too big (RFC 1191, RFC 8201). A message counts only if the caller
 * confirms that it quotes a packet in flight (RFC 5927 §7.2). An entry expires after ten minutes, when the path
 * may have changed.
 */
export class PathMtus {
  readonly #deviceMtu: number;
  readonly #salt: number;
  readonly #isOurs: (quote: IcmpQuote) => boolean;
  /** Paths by the hash of the address, the oldest first. An address with the same hash replaces the other. */
  readonly #paths = new Map<number, Path>();
  /** The quote of the last message: after `lowered` the connection that has to send smaller packets. */
  readonly quote = new IcmpQuote();

  /**
   * @param deviceMtu the MTU of all other paths, in bytes.
   * @param salt 32 random bits.
   * @param isOurs returns whether the quoted packet was sent and may be in flight: for TCP, whether the connection has
   *   sent the sequence number and it is unacknowledged.
   */
  constructor(deviceMtu: number, salt: number, isOurs: (quote: IcmpQuote) => boolean) {
    this.#deviceMtu = deviceMtu;
    this.#salt = salt;
    this.#isOurs = isOurs;
  }

  /** Returns the MTU of the path to `destination`, in bytes. @param now milliseconds. */
  get(destination: IpEndpoint, now: number): number {
    if (this.#paths.size === 0) return this.#deviceMtu;
    return this.#find(destination, now)?.mtu ?? this.#deviceMtu;
  }

  /** Number of entries. */
  get size(): number {
    return this.#paths.size;
  }

  /**
   * Handles a "too big" message.
   *
   * @param now milliseconds.
   * @returns after `lowered`, `get` returns the new MTU of `quote.destination`.
   */
  receive(message: IcmpMessage, now: number): PathMtuOutcome {
    const { quote } = this;
    if (!readQuote(message, quote)) return 'unreadable quote';
    const mtu = message.mtu === 0 ? plateauBelow(quote.size) : message.mtu;
    // An MTU below the minimum of IPv6 is ignored (RFC 8201 §4).
    if (mtu < (message.version === 4 ? MIN_PATH_MTU_IPV4 : MIN_IPV6_MTU)) {
      return 'below the minimum';
    }
    if (mtu >= this.get(quote.destination, now)) return 'not lower';
    if (!this.#isOurs(quote)) return 'not of a packet of ours';
    this.#remember(quote.destination, mtu, now);
    return 'lowered';
  }

  #find(destination: IpEndpoint, now: number): Path | undefined {
    const key = hashAddress(destination, this.#salt);
    const path = this.#paths.get(key);
    if (path === undefined || !isSameAddress(path.destination, destination)) return undefined;
    if (path.expiresAt > now) return path;
    this.#paths.delete(key);
    return undefined;
  }

  #remember(destination: IpEndpoint, mtu: number, now: number): void {
    const key = hashAddress(destination, this.#salt);
    // The entry becomes the newest.
    this.#paths.delete(key);
    if (this.#paths.size >= MAX_PATH_MTUS) {
      const [oldest] = this.#paths.keys();
      if (oldest !== undefined) this.#paths.delete(oldest);
    }
    const own = blankEndpoint();
    assignEndpoint(own, destination);
    this.#paths.set(key, { destination: own, mtu, expiresAt: now + PATH_MTU_LIFETIME_MS });
  }
}

/** Returns the largest common MTU below the size of the packet that was too big. */
const plateauBelow = (size: number): number => PLATEAUS.find((mtu) => mtu < size) ?? 0;
