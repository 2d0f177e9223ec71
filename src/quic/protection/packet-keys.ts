/** TLS cipher suites of QUIC version 1 (RFC 9001 §5.3). */
export const CipherSuite = {
  AES_128_GCM_SHA256: 0x1301,
  AES_256_GCM_SHA384: 0x1302,
  CHACHA20_POLY1305_SHA256: 0x1303,
} as const;
export type CipherSuite = (typeof CipherSuite)[keyof typeof CipherSuite];

/** Whether a number of TLS is a suite that packets can be protected with. */
export declare function isCipherSuite(value: number): value is CipherSuite;

/** Bytes that protection adds to a packet. */
export const TAG_SIZE = 16;
/** Bytes from the start of the packet number that have to follow for header protection: 4 + 16. */
export const MIN_PROTECTED_SIZE = 20;

/**
 * Seals the packets of one direction at one level, in place.
 *
 * A packet has at least 4 bytes of packet number and plaintext together (RFC 9001 §5.4.2). Dispose of
 * it when its keys are discarded.
 */
export declare class PacketSealer implements Disposable {
  /** @param secret the traffic secret of TLS; copied. */
  constructor(suite: CipherSuite, secret: Uint8Array);
  readonly suite: CipherSuite;
  /** Packets sealed with these keys. */
  readonly sealed: number;
  /** How many may be sealed (RFC 9001 §6.6). */
  readonly confidentialityLimit: number;
  /**
   * Encrypts a packet and appends its tag. Its header stays readable until `protectHeaders`, which
   * has to be called before the packet is sent, and before `bytes` are used for others.
   *
   * @param start of the packet; what stands before the plaintext is authenticated.
   * @param numberOffset of the packet number, of `numberSize` bytes, behind which the plaintext starts.
   * @param end of the plaintext; 16 bytes follow in `bytes`.
   * @returns the end of the packet, behind its tag.
   * @throws {RangeError} for ranges outside of `bytes`.
   */
  seal(
    bytes: Uint8Array,
    start: number,
    numberOffset: number,
    numberSize: number,
    end: number,
    packetNumber: number,
  ): number;
  /** Protects the headers of the packets sealed since the last call, in one batch. */
  protectHeaders(): void;
  /** The keys after a key update, with the same header protection (RFC 9001 §6.1). */
  next(): PacketSealer;
  [Symbol.dispose](): void;
}

/** Opens the packets of one direction at one level, in place. */
export declare class PacketOpener implements Disposable {
  /** @param secret the traffic secret of TLS; copied. */
  constructor(suite: CipherSuite, secret: Uint8Array);
  readonly suite: CipherSuite;
  /** Packets that failed authentication, these keys and those before a key update together. */
  readonly rejected: number;
  /** How many may fail before the connection closes with AEAD_LIMIT_REACHED (RFC 9001 §6.6). */
  readonly integrityLimit: number;
  /**
   * Computes the header protection masks of packets that lie at equal distances, such as the
   * datagrams of one receive: for `unprotect` with an index from 0 to the returned count - 1.
   *
   * @param numberOffset of the first packet's number.
   * @param stride from packet to packet.
   * @param end of the bytes; packets too short for a sample at the end are left out.
   * @returns how many masks are ready.
   */
  prepareMasks(bytes: Uint8Array, numberOffset: number, stride: number, end: number): number;
  /**
   * Removes header protection: the first byte and the packet number are readable afterwards.
   *
   * @param end of the packet.
   * @param largest number received in this space; -1 before the first.
   * @param mask the index of a mask that `prepareMasks` has computed; -1 to compute it here.
   * @returns the full packet number, or -1 for a packet that is too short.
   */
  unprotect(
    bytes: Uint8Array,
    start: number,
    numberOffset: number,
    end: number,
    largest: number,
    mask?: number,
  ): number;
  /**
   * Decrypts an unprotected packet. The plaintext is from `numberOffset` + the size of the packet
   * number to `end` - 16.
   *
   * @returns false when the packet is not authentic: it is dropped, and nothing of it is to be used.
   */
  open(
    bytes: Uint8Array,
    start: number,
    numberOffset: number,
    end: number,
    packetNumber: number,
  ): boolean;
  /** The keys after a key update, with the same header protection (RFC 9001 §6.1). */
  next(): PacketOpener;
  [Symbol.dispose](): void;
}

/** The bytes of the packet number, from an unprotected first byte. */
export const numberSizeOf = (firstByte: number): number => (firstByte & 0x03) + 1;
