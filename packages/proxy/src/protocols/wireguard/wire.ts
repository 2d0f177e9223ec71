/*
 * The four messages of WireGuard (whitepaper §5.4). Numbers are in little-endian order, and every message
 * begins with its type and three bytes that are zero, unless both sides have agreed on others.
 */

export const MessageType = { INITIATION: 1, RESPONSE: 2, COOKIE_REPLY: 3, DATA: 4 } as const;
export type MessageType = (typeof MessageType)[keyof typeof MessageType];

/** Bytes of a public key, a tag, and a code or cookie. */
export const KEY_SIZE = 32;
export const TAG_SIZE = 16;
export const MAC_SIZE = 16;
/** Bytes of a TAI64N timestamp. */
const TIMESTAMP_SIZE = 12;
/** Bytes of the nonce of XChaCha20. */
export const COOKIE_NONCE_SIZE = 24;

/** Bytes of a handshake initiation, a handshake response, and a cookie reply. */
export const INITIATION_SIZE = 148;
export const RESPONSE_SIZE = 92;
export const COOKIE_REPLY_SIZE = 64;

/** Offsets of the fields of a handshake initiation (§5.4.2). */
export const InitiationOffset = {
  sender: 4,
  ephemeral: 8,
  static: 40,
  timestamp: 88,
  mac1: 116,
  mac2: 132,
} as const;

/** Offsets of the fields of a handshake response (§5.4.3). */
export const ResponseOffset = {
  sender: 4,
  receiver: 8,
  ephemeral: 12,
  empty: 44,
  mac1: 60,
  mac2: 76,
} as const;

/** Offsets of the fields of a cookie reply (§5.4.7). */
export const CookieReplyOffset = { receiver: 4, nonce: 8, cookie: 32 } as const;

/** Offsets of the fields of a transport data message (§5.4.6); the tag follows the packet. */
export const DataOffset = { receiver: 4, counter: 8, packet: 16 } as const;

/** Bytes of the header and the tag of a transport data message. */
export const DATA_OVERHEAD = DataOffset.packet + TAG_SIZE;

/** Plaintext is padded with zeros to a multiple of this many bytes. */
const PADDING = 16;

/** Returns the size in bytes of a packet with its padding (whitepaper §5.4.6), which does not exceed the MTU. */
export const paddedLength = (length: number, mtu: number): number =>
  Math.max(length, Math.min(Math.ceil(length / PADDING) * PADDING, mtu));

/** Returns the size in bytes of the datagram that carries a packet of `length` bytes. */
export const datagramSize = (length: number, mtu: number): number =>
  paddedLength(length, mtu) + DATA_OVERHEAD;

/**
 * Returns the type of the message at `start` to `end` of `bytes`, by its first four bytes and its length; `undefined`
 * when it is not a message.
 */
export function messageType(
  bytes: Uint8Array,
  start: number,
  end: number,
): MessageType | undefined {
  const length = end - start;
  if (length < DATA_OVERHEAD) return undefined;
  switch (readIndex(bytes, start)) {
    case MessageType.DATA:
      return MessageType.DATA;
    case MessageType.INITIATION:
      return length === INITIATION_SIZE ? MessageType.INITIATION : undefined;
    case MessageType.RESPONSE:
      return length === RESPONSE_SIZE ? MessageType.RESPONSE : undefined;
    case MessageType.COOKIE_REPLY:
      return length === COOKIE_REPLY_SIZE ? MessageType.COOKIE_REPLY : undefined;
    default:
      return undefined;
  }
}

/** Reads an index, or the type with the reserved bytes: an unsigned number of 32 bits. */
export const readIndex = (bytes: Uint8Array, at: number): number =>
  ((bytes[at] ?? 0) |
    ((bytes[at + 1] ?? 0) << 8) |
    ((bytes[at + 2] ?? 0) << 16) |
    ((bytes[at + 3] ?? 0) << 24)) >>>
  0;

export function writeIndex(bytes: Uint8Array, at: number, value: number): void {
  bytes[at] = value;
  bytes[at + 1] = value >>> 8;
  bytes[at + 2] = value >>> 16;
  bytes[at + 3] = value >>> 24;
}

/** Reads a counter of 64 bits. From 2^53 on the result is not exact, but not a safe integer either. */
export const readCounter = (bytes: Uint8Array, at: number): number =>
  readIndex(bytes, at) + readIndex(bytes, at + 4) * 2 ** 32;

/**
 * Writes a counter of 64 bits.
 * @param value a safe integer.
 */
export function writeCounter(bytes: Uint8Array, at: number, value: number): void {
  writeIndex(bytes, at, value >>> 0);
  writeIndex(bytes, at + 4, Math.floor(value / 2 ** 32));
}

/** 2^62, the start of the seconds of TAI64, and the 10 s by which TAI was ahead of UTC in 1970. */
const TAI64_EPOCH = 2n ** 62n + 10n;
/**
 * Nanoseconds are rounded down to a multiple of this, about 16.7 ms: a precise clock would disclose more about
 * this host than the peer needs.
 */
const TIMESTAMP_GRAIN = 2n ** 24n;

/**
 * Returns the time as TAI64N, later than `last`.
 *
 * @param wall milliseconds of Unix time.
 * @param last an earlier result. Timestamps are ordered as bytes.
 */
export function timestampAfter(last: Uint8Array | undefined, wall: number): Uint8Array {
  const milliseconds = BigInt(Math.max(0, Math.floor(wall)));
  const seconds = TAI64_EPOCH + milliseconds / 1000n;
  const nanoseconds = (milliseconds % 1000n) * 1_000_000n;
  const bytes = Buffer.alloc(TIMESTAMP_SIZE);
  bytes.writeBigUInt64BE(seconds);
  bytes.writeUInt32BE(Number(nanoseconds - (nanoseconds % TIMESTAMP_GRAIN)), 8);
  if (last === undefined || Buffer.compare(bytes, last) > 0) return bytes;
  // The clock stands still or was set back: the next greater bytes, since peers compare bytes.
  bytes.set(last);
  for (let at = TIMESTAMP_SIZE - 1; at >= 0; at--) {
    const next = ((bytes[at] ?? 0) + 1) & 0xff;
    bytes[at] = next;
    if (next !== 0) break;
  }
  return bytes;
}
