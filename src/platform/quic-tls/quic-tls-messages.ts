/** Bytes of the type and length of a handshake message (RFC 8446 §4). */
const HEADER = 4;

/**
 * The longest handshake message, in bytes, without its header; a longer one aborts the handshake.
 * OpenSSL allocates the announced length immediately: without this bound the first packet of a
 * client would cost 128 KB. A ClientHello has 300 to 2,000 bytes, a certificate chain rarely more
 * than 10,000.
 */
export const MAX_MESSAGE = { initial: 0x4000, handshake: 0x10000, application: 0x4000 } as const;

/** The type KeyUpdate, forbidden in QUIC, which has its own key update (RFC 9001 §6). */
const KEY_UPDATE = 24;

/** The reason why a handshake message is rejected before TLS reads it. */
export type MessageFault = 'key update' | 'too long';

/** Tracks the types and lengths of handshake messages in CRYPTO data of arbitrary pieces. */
export class MessageHeads {
  /** Outstanding bytes of the current message. */
  #left = 0;
  #headerBytes = 0;
  #length = 0;

  /**
   * Returns the first fault of the messages that start in these bytes; each may have at most `most` bytes.
   */
  faultIn(most: number, bytes: Uint8Array): MessageFault | undefined {
    let at = 0;
    while (at < bytes.length) {
      if (this.#left > 0) {
        const skipped = Math.min(this.#left, bytes.length - at);
        this.#left -= skipped;
        at += skipped;
        continue;
      }
      const byte = bytes[at++] ?? 0;
      if (this.#headerBytes === 0 && byte === KEY_UPDATE) return 'key update';
      this.#length = this.#headerBytes === 0 ? 0 : this.#length * 256 + byte;
      this.#headerBytes++;
      if (this.#headerBytes < HEADER) continue;
      if (this.#length > most) return 'too long';
      this.#left = this.#length;
      this.#headerBytes = 0;
    }
    return undefined;
  }
}
