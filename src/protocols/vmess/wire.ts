/**
 * The numbers of VMess (v2fly developer/protocols/vmess, Xray-core common/protocol/headers.go).
 */

export const VERSION = 1;

/** What a client asks for. */
export const Command = { tcp: 1, udp: 2, mux: 3 } as const;
export type Command = (typeof Command)[keyof typeof Command];

/** How the body is sealed. The others (none, zero, legacy) protect nothing and are not spoken. */
export const Security = { aes128Gcm: 3, chacha20Poly1305: 4 } as const;
export type Security = (typeof Security)[keyof typeof Security];

/** How the body is framed; the client chooses and both directions follow. */
export const Option = {
  /** Bodies come in chunks, and an empty one is the end. */
  chunkStream: 0x01,
  /** The lengths of chunks are masked. */
  masking: 0x04,
  /** Chunks have up to 63 bytes of padding; needs masking. */
  padding: 0x08,
  /** The lengths of chunks are sealed; masking then only makes the lengths of padding. */
  authenticatedLength: 0x10,
} as const;

export const KEY_LENGTH = 16;
export const AUTH_ID_LENGTH = 16;
/** The length of a header, sealed. */
export const SEALED_LENGTH = 2 + 16;
/** Random bytes beside a request header. */
export const CONNECTION_NONCE_LENGTH = 8;
