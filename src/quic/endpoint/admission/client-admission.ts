import type { RandomSource } from '../../../crypto/random-source.ts';
import { addressBytes, type IpEndpoint } from '../../../ip/ip-endpoint.ts';
import { TransportErrorCode } from '../../errors.ts';
import { initialKeys } from '../../protection/initial-secrets.ts';
import { AddressTokens } from '../../protection/tokens.ts';
import { PacketHeader, PacketType, readPacketHeader } from '../../wire/packet-header.ts';
import {
  LOCAL_ID_SIZE,
  MAX_UNVALIDATED_HANDSHAKES,
  MIN_CLIENT_CHOSEN_ID,
  MIN_INITIAL_DATAGRAM,
  UNVALIDATED_PART,
} from '../limits.ts';
import { UsedTokens } from './used-tokens.ts';
import { negotiateVersion, refuse, retry } from './stateless-packets.ts';

/** How many clients an endpoint has. */
export interface Occupancy {
  /** Connections that have not ended. */
  readonly connections: number;
  /** Those of them whose handshake is not complete, and whose address was not validated by a token. */
  readonly unvalidatedHandshakes: number;
  /** Whether there are so many clients that are not known yet that one of them has to give way, */
  readonly isCrowded: boolean;
  /** and whether one of them may, which is asked for a client whose address is validated. */
  readonly hasVictim: boolean;
}

/** What becomes of a datagram for no known connection, with a long header. */
export type AdmissionVerdict =
  | { readonly kind: 'drop' }
  /** So many bytes were written to the given buffer: send them back. */
  | { readonly kind: 'respond'; readonly length: number }
  | Acceptance;

/** A new client gets a connection. */
export interface Acceptance {
  readonly kind: 'accept';
  /** The id that the client sends to, which is in its packet: its packets are for the new connection. */
  readonly chosenIdOffset: number;
  readonly chosenIdSize: number;
  readonly originalId: Uint8Array;
  readonly retrySourceId: Uint8Array | undefined;
  readonly clientId: Uint8Array;
  readonly isValidated: boolean;
}

const DROP: AdmissionVerdict = { kind: 'drop' };

/**
 * Decides about clients that appear: whether they get a connection, a Retry packet, a refusal, version
 * negotiation, or nothing.
 *
 * It keeps nothing of any client but which tokens were used, and nothing responds to what is no Initial packet of 1,200 bytes.
 */
export class ClientAdmission implements Disposable {
  readonly tokens: AddressTokens;
  readonly #random: RandomSource;
  readonly #negotiatesVersion: boolean;
  readonly #header = new PacketHeader();
  readonly #used = new UsedTokens();

  /**
   * @param negotiatesVersion false where datagrams are obfuscated: then random bytes look like packets
   *   of an unknown version, and a response would show that there is a QUIC server.
   */
  constructor(random: RandomSource, negotiatesVersion = true) {
    this.#random = random;
    this.#negotiatesVersion = negotiatesVersion;
    this.tokens = new AddressTokens(random);
  }

  /** Whether a datagram for no connection may be worth a response. Only its header is read. */
  isPlausible(bytes: Uint8Array, offset: number, length: number): boolean {
    const header = this.#header;
    if (
      length < MIN_INITIAL_DATAGRAM ||
      readPacketHeader(bytes, offset, offset + length, LOCAL_ID_SIZE, header) !== undefined
    ) {
      return false;
    }
    const { type, destinationIdSize } = header;
    if (type === PacketType.UNKNOWN_VERSION) return this.#negotiatesVersion;
    return type === PacketType.INITIAL && destinationIdSize >= MIN_CLIENT_CHOSEN_ID;
  }

  /**
   * @param out where a response is written.
   * @param now milliseconds.
   */
  judge(
    bytes: Uint8Array,
    offset: number,
    length: number,
    peer: IpEndpoint,
    occupancy: Occupancy,
    maxConnections: number,
    now: number,
    out: Uint8Array,
  ): AdmissionVerdict {
    if (!this.isPlausible(bytes, offset, length)) return DROP;
    const header = this.#header;
    if (header.type === PacketType.UNKNOWN_VERSION) {
      return { kind: 'respond', length: negotiateVersion(out, bytes, header, this.#random) };
    }
    return this.#judgeInitial(bytes, peer, occupancy, maxConnections, now, out);
  }

  #judgeInitial(
    bytes: Uint8Array,
    peer: IpEndpoint,
    { connections, unvalidatedHandshakes, isCrowded, hasVictim }: Occupancy,
    maxConnections: number,
    now: number,
    out: Uint8Array,
  ): AdmissionVerdict {
    const header = this.#header;
    const { destinationIdOffset: at, destinationIdSize: size, sourceIdOffset } = header;
    const accepted = {
      kind: 'accept',
      chosenIdOffset: at,
      chosenIdSize: size,
      originalId: Uint8Array.from(bytes.subarray(at, at + size)),
      retrySourceId: undefined,
      clientId: Uint8Array.from(
        bytes.subarray(sourceIdOffset, sourceIdOffset + header.sourceIdSize),
      ),
      isValidated: false,
    } as const;
    const refusal = (code: number): AdmissionVerdict =>
      isAuthentic(bytes, header)
        ? { kind: 'respond', length: refuse(out, bytes, header, code) }
        : DROP;
    // A client that comes back with a token was not refused before: it is now, when that is so.
    const isFull = connections >= maxConnections;
    if (maxConnections === 0 || (isFull && !hasVictim))
      return refusal(TransportErrorCode.CONNECTION_REFUSED);
    if (isCrowded && !hasVictim) return DROP;
    const checked = this.#checkToken(bytes, peer, accepted, now);
    if (checked === 'invalid') return refusal(TransportErrorCode.INVALID_TOKEN);
    const most = Math.min(MAX_UNVALIDATED_HANDSHAKES, maxConnections * UNVALIDATED_PART);
    // A place of another client is for a client that is where it says.
    const wantsProof = isFull || isCrowded || unvalidatedHandshakes + 1 > most;
    if (!checked.isValidated && wantsProof) {
      return { kind: 'respond', length: this.#retry(bytes, peer, accepted.originalId, now, out) };
    }
    if (!isAuthentic(bytes, header)) return DROP;
    // A token of NEW_TOKEN, as opposed to one of a Retry packet.
    if (checked.isValidated && !checked.retrySourceId) this.#used.add(bytes, header.tokenOffset);
    return checked;
  }

  /** What the token of the Initial packet says, if it has one that was issued here. */
  #checkToken(
    bytes: Uint8Array,
    peer: IpEndpoint,
    accepted: Acceptance,
    now: number,
  ): Acceptance | 'invalid' {
    const { tokenOffset, tokenSize } = this.#header;
    if (tokenSize === 0) return accepted;
    const address = addressBytes(peer);
    const claim = this.tokens.open(bytes, tokenOffset, tokenSize, address, peer.port, now);
    switch (claim?.kind) {
      case undefined:
        return accepted;
      case 'new-token':
        // One that was used counts as none (§8.1.3).
        return { ...accepted, isValidated: !this.#used.has(bytes, tokenOffset) };
      case 'invalid-retry':
        return 'invalid';
      case 'retry': {
        const { originalId, retrySourceId } = claim;
        // The client has to use the id of the Retry packet (RFC 9000 §7.3).
        if (Buffer.compare(retrySourceId, accepted.originalId) !== 0) return 'invalid';
        return { ...accepted, originalId, retrySourceId, isValidated: true };
      }
      default:
        return claim satisfies never;
    }
  }

  #retry(
    bytes: Uint8Array,
    peer: IpEndpoint,
    originalId: Uint8Array,
    now: number,
    out: Uint8Array,
  ): number {
    const retryId = this.#random.bytes(LOCAL_ID_SIZE);
    const address = addressBytes(peer);
    const token = this.tokens.retryToken(address, peer.port, originalId, retryId, now);
    return retry(out, bytes, this.#header, retryId, token, this.#random);
  }

  [Symbol.dispose](): void {
    this.tokens[Symbol.dispose]();
  }
}

/**
 * Whether an Initial packet is what it seems to be, so that nothing is built for garbage. The packet
 * stays as it is.
 */
function isAuthentic(bytes: Uint8Array, header: PacketHeader): boolean {
  const { start, end, numberOffset, destinationIdOffset: at, destinationIdSize: size } = header;
  const { sealer, opener } = initialKeys(bytes.subarray(at, at + size), 'server');
  sealer[Symbol.dispose]();
  using keys = opener;
  const packet = Buffer.from(bytes.subarray(start, end));
  const number = keys.unprotect(packet, 0, numberOffset - start, packet.length, -1);
  return number >= 0 && keys.open(packet, 0, numberOffset - start, packet.length, number);
}
