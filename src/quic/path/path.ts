import type { SendControl } from '../../congestion/send-control.ts';
import type { RandomSource } from '../../crypto/random-source.ts';
import type { MtuSearch } from './mtu-search.ts';

/** Compares addresses, which this folder knows nothing else about. */
export interface AddressRules<Address> {
  isSame(one: Address, other: Address): boolean;
  /** Whether they differ in the port at most. */
  isSameHost(one: Address, other: Address): boolean;
  /** A copy that stays as it is. */
  copy(address: Address): Address;
}

/** One path: its addresses, whether the peer's is validated, what may be sent to it, its controls. */
export declare class Path<Address> {
  constructor(options: {
    readonly remote: Address;
    /** The own address that the peer sends to, where known. */
    readonly local: Address | undefined;
    readonly control: SendControl;
    readonly mtu: MtuSearch;
    readonly random: RandomSource;
    readonly validated: boolean;
  });
  readonly remote: Address;
  readonly local: Address | undefined;
  readonly control: SendControl;
  readonly mtu: MtuSearch;
  /** Whether the peer was shown to receive at this address (RFC 9000 §8). */
  readonly isValidated: boolean;
  /** Bytes that may be sent: three times what was received until it is validated, then Infinity (§8.1). */
  readonly amplificationBudget: number;
  onReceived(bytes: number): void;
  onSent(bytes: number): void;
  /** The handshake, a token or a response validated the address. */
  validate(): void;

  /** Starts a validation (§8.2.1). @param probeTimeout of the path in use. */
  startValidation(probeTimeout: number, now: number): void;
  readonly isValidating: boolean;
  /** When `onTimeout` is to be called; Infinity for not at all. */
  readonly timeout: number;
  /** 'failed' when the validation is abandoned (§8.2.4). */
  onTimeout(now: number): 'failed' | undefined;
  /** The data of a PATH_CHALLENGE that is to be sent now; the same until `onChallengeSent`. */
  readonly challengeDue: Uint8Array | undefined;
  /** @param expanded whether its datagram had 1,200 bytes or more (§8.2.1). */
  onChallengeSent(expanded: boolean, now: number): void;
  /** Whether it answers one of this path's challenges. */
  onResponse(bytes: Uint8Array, at: number): boolean;

  /** A PATH_CHALLENGE was received on this path: its answer has to leave on it (§8.2.2). */
  onChallenge(bytes: Uint8Array, at: number): void;
  /** The data of a PATH_RESPONSE that is to be sent now. */
  readonly responseDue: Uint8Array | undefined;
  onResponseSent(): void;
}
