import {
  MAX_USED_TOKENS,
  LOCAL_ID_SIZE,
  MAX_UNVALIDATED_HANDSHAKES,
  MIN_CLIENT_CHOSEN_ID,
  MIN_INITIAL_DATAGRAM,
  UNVALIDATED_PART,
  MAX_RESET_SIZE,
} from '../limits.ts';
import type { RandomSource } from '@weir/base/random';
import { addressBytes, type IpEndpoint } from '@weir/base/ip';
import { TransportErrorCode } from '../errors.ts';
import { initialKeys, writeRetryTag } from '../protection/initial-secrets.ts';
import { AddressTokens, type ResetTokens } from '../protection/tokens.ts';
import {
  PacketHeader,
  PacketType,
  readPacketHeader,
  VERSION_1,
  writeLength,
  writeLongHeader,
  writeRetry,
  writeVersionNegotiation,
  RESET_TOKEN_SIZE,
  writePacketNumber,
} from '../wire/packet-header.ts';
import { TAG_SIZE } from '../protection/packet-keys.ts';
import { writeConnectionClose } from '../wire/frame-writers.ts';

/** Bytes that identify a token: a part of its nonce, which is random. */
const KEY_SIZE = 16;

/**
 * Tokens of NEW_TOKEN that have been used (RFC 9000 §8.1.4). The last `MAX_USED_TOKENS` are remembered at
 * least, and twice as many at most.
 */
export class UsedTokens {
  #recent = new Set<string>();
  #former = new Set<string>();

  /** Records a token as used. Only for tokens issued by this process, so that forged ones cannot fill the memory. */
  add(bytes: Uint8Array, offset: number): void {
    this.#recent.add(keyOf(bytes, offset));
    if (this.#recent.size < MAX_USED_TOKENS) return;
    this.#former = this.#recent;
    this.#recent = new Set();
  }

  has(bytes: Uint8Array, offset: number): boolean {
    const key = keyOf(bytes, offset);
    return this.#recent.has(key) || this.#former.has(key);
  }
}

const keyOf = (bytes: Uint8Array, offset: number): string =>
  Buffer.from(bytes.subarray(offset, offset + KEY_SIZE)).toString('latin1');

/** The occupancy of an endpoint, on which the admission of a new client depends. */
export interface Occupancy {
  /** Clients' connections that have not ended. */
  readonly connections: number;
  /**
   * Connections whose handshake is not complete, or was not when they ended, until they are forgotten, and whose
   * address was not validated by a token.
   */
  readonly unvalidatedHandshakes: number;
  /** Whether a further client is admitted only by replacing another unauthenticated one. */
  readonly isCrowded: boolean;
  /** Whether there is a client that may be replaced; only for new clients with a validated address. */
  readonly hasVictim: boolean;
}

/** The decision about a datagram with a long header for an unknown connection. */
export type AdmissionVerdict =
  | { readonly kind: 'drop' }
  /** A response of `length` bytes was written to the given buffer. */
  | { readonly kind: 'respond'; readonly length: number }
  | Acceptance;

/** A new client is admitted. */
export interface Acceptance {
  readonly kind: 'accept';
  /** The position in the packet of the id that the client has chosen, and its size. */
  readonly chosenIdOffset: number;
  readonly chosenIdSize: number;
  readonly originalId: Uint8Array;
  readonly retrySourceId: Uint8Array | undefined;
  readonly clientId: Uint8Array;
  readonly isValidated: boolean;
}

const DROP: AdmissionVerdict = { kind: 'drop' };

/**
 * Decides about new clients: whether they get a connection, a Retry packet, a refusal, version negotiation, or
 * no response.
 *
 * No state of a client is kept except for used tokens, and responds only to datagrams of at least 1,200 bytes.
 */
export class ClientAdmission implements Disposable {
  readonly tokens: AddressTokens;
  readonly #random: RandomSource;
  readonly #negotiatesVersion: boolean;
  readonly #header = new PacketHeader();
  readonly #used = new UsedTokens();

  /**
   * @param negotiatesVersion false if datagrams are obfuscated: random bytes look like packets of an unknown
   *   version there, and a response would reveal that there is a QUIC server.
   */
  constructor(random: RandomSource, negotiatesVersion = true) {
    this.#random = random;
    this.#negotiatesVersion = negotiatesVersion;
    this.tokens = new AddressTokens(random);
  }

  /** Whether a datagram for an unknown connection may get a response. Only its header is read. */
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
   * @param out receives a response.
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
      // Version Negotiation with the supported versions (RFC 9000 §6.1), in response to another version.
      const [destinationId, sourceId] = [sourceIdOf(bytes, header), destinationIdOf(bytes, header)];
      const unused = this.#random.below(0x40);
      const versions = [VERSION_1];
      const end = writeVersionNegotiation(out, 0, destinationId, sourceId, versions, unused);
      return { kind: 'respond', length: end };
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
    const { destinationIdOffset: at, destinationIdSize: size } = header;
    const accepted = {
      kind: 'accept',
      chosenIdOffset: at,
      chosenIdSize: size,
      originalId: Uint8Array.from(destinationIdOf(bytes, header)),
      retrySourceId: undefined,
      clientId: Uint8Array.from(sourceIdOf(bytes, header)),
      isValidated: false,
    } as const;
    const refusal = (code: number): AdmissionVerdict =>
      isAuthentic(bytes, header)
        ? { kind: 'respond', length: refuse(out, bytes, header, code) }
        : DROP;
    // Also checked with a token: the endpoint may have become full since the Retry.
    const isFull = connections >= maxConnections;
    if (maxConnections === 0 || (isFull && !hasVictim))
      return refusal(TransportErrorCode.CONNECTION_REFUSED);
    if (isCrowded && !hasVictim) return DROP;
    const checked = this.#checkToken(bytes, peer, accepted, now);
    if (checked === 'invalid') return refusal(TransportErrorCode.INVALID_TOKEN);
    const most = Math.min(MAX_UNVALIDATED_HANDSHAKES, maxConnections * UNVALIDATED_PART);
    // Another client is replaced only by a client whose address is validated.
    const wantsProof = isFull || isCrowded || unvalidatedHandshakes + 1 > most;
    if (!checked.isValidated && wantsProof) {
      return { kind: 'respond', length: this.#retry(bytes, peer, accepted.originalId, now, out) };
    }
    if (!isAuthentic(bytes, header)) return DROP;
    // A token of NEW_TOKEN, not one of a Retry packet.
    if (checked.isValidated && !checked.retrySourceId) this.#used.add(bytes, header.tokenOffset);
    return checked;
  }

  /** Applies the token of the Initial packet, if it has one that was issued here. */
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
        // A token that was used before is ignored (§8.1.4).
        return { ...accepted, isValidated: !this.#used.has(bytes, tokenOffset) };
      case 'invalid-retry':
        return 'invalid';
      case 'retry': {
        const { originalId, retrySourceId } = claim;
        // The client MUST use the source id of the Retry packet (RFC 9000 §17.2.5.2).
        if (Buffer.compare(retrySourceId, accepted.originalId) !== 0) return 'invalid';
        return { ...accepted, originalId, retrySourceId, isValidated: true };
      }
      default:
        return claim satisfies never;
    }
  }

  /** Writes a Retry packet (§17.2.5), whose source id the client uses as destination id. */
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
    const header = this.#header;
    const unused = this.#random.below(0x10);
    const end = writeRetry(out, 0, sourceIdOf(bytes, header), retryId, token, unused);
    return writeRetryTag(out, 0, end, destinationIdOf(bytes, header));
  }

  [Symbol.dispose](): void {
    this.tokens[Symbol.dispose]();
  }
}

/** Whether an Initial packet is authentic, so that garbage creates no connection. The packet is not changed. */
function isAuthentic(bytes: Uint8Array, header: PacketHeader): boolean {
  const { start, end, numberOffset } = header;
  const { sealer, opener } = initialKeys(destinationIdOf(bytes, header), 'server');
  sealer[Symbol.dispose]();
  using keys = opener;
  const packet = Buffer.from(bytes.subarray(start, end));
  const number = keys.unprotect(packet, 0, numberOffset - start, packet.length, -1);
  return number >= 0 && keys.open(packet, 0, numberOffset - start, packet.length, number);
}

/*
 * Packets without a connection. Each is written at the beginning of `out`, and its length is returned.
 * `header` is that of the packet that is responded to; the response has its ids swapped.
 */

const NOTHING = new Uint8Array(0);

const destinationIdOf = (bytes: Uint8Array, header: PacketHeader): Uint8Array =>
  bytes.subarray(header.destinationIdOffset, header.destinationIdOffset + header.destinationIdSize);

const sourceIdOf = (bytes: Uint8Array, header: PacketHeader): Uint8Array =>
  bytes.subarray(header.sourceIdOffset, header.sourceIdOffset + header.sourceIdSize);

/** Bytes of the packet number in a packet that refuses a connection. */
const NUMBER_SIZE = 4;

/** Writes an Initial packet with CONNECTION_CLOSE, instead of a connection (§5.2.2). */
function refuse(out: Uint8Array, bytes: Uint8Array, header: PacketHeader, code: number): number {
  const destinationId = destinationIdOf(bytes, header);
  const keys = initialKeys(destinationId, 'server');
  using sealer = keys.sealer;
  using opener = keys.opener;
  void opener;
  const numberAt = writeLongHeader(
    out,
    0,
    PacketType.INITIAL,
    NUMBER_SIZE,
    sourceIdOf(bytes, header),
    destinationId,
    NOTHING,
  );
  const frameAt = writePacketNumber(out, numberAt, 0, NUMBER_SIZE);
  const end = writeConnectionClose(out, frameAt, code, 0, NOTHING);
  // Written before the packet is sealed, because the header is authenticated.
  writeLength(out, numberAt, end + TAG_SIZE);
  const sealed = sealer.seal(out, 0, numberAt, NUMBER_SIZE, end, 0);
  sealer.protectHeaders();
  return sealed;
}

/**
 * Writes a stateless reset (§10.3) in response to a packet with an unknown id; 0 when the packet is too short for
 * one. The reset is smaller than the packet, so that two endpoints that have both forgotten a connection do not loop
 * (§10.3.3), and is not distinguishable from packets of a connection.
 */
export function reset(
  out: Uint8Array,
  bytes: Uint8Array,
  offset: number,
  length: number,
  tokens: ResetTokens,
  random: RandomSource,
): number {
  const size = Math.min(length - 1, MAX_RESET_SIZE);
  const tokenAt = size - RESET_TOKEN_SIZE;
  if (tokenAt < 5 || length < 1 + LOCAL_ID_SIZE) return 0;
  random.fill(out.subarray(0, tokenAt));
  out[0] = 0x40 | ((out[0] as number) & 0x3f);
  out.set(tokens.tokenFor(bytes.subarray(offset + 1, offset + 1 + LOCAL_ID_SIZE)), tokenAt);
  return size;
}
