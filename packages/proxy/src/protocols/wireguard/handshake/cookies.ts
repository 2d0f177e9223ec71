import { createOpener, createSealer } from '@weir/crypto/aead';
import { blake2s256, blake2sMac } from '@weir/crypto/hash/blake2';
import { equalInConstantTime } from '@weir/crypto/hash';
import type { RandomSource } from '@weir/base/random';
import { addressBytes, type IpEndpoint } from '@weir/base/ip';
import { COOKIE_SECRET_TIME } from '../limits.ts';
import {
  COOKIE_REPLY_SIZE,
  CookieReplyOffset,
  COOKIE_NONCE_SIZE,
  KEY_SIZE,
  MAC_SIZE,
  MessageType,
  readIndex,
  writeIndex,
} from '../wire.ts';

/*
 * The MACs at the end of handshake messages, and cookies (whitepaper §5.4.4 and §5.4.7). `mac1` proves that
 * the sender has the public key of the receiver; `mac2` that it receives what is sent to its address.
 */

const MAC1_LABEL = Buffer.from('mac1----');
const COOKIE_LABEL = Buffer.from('cookie--');

/** Returns the offset of `mac1` in a handshake message: only `mac2` follows. */
const mac1At = (message: Uint8Array): number => message.length - 2 * MAC_SIZE;

/** The sender's side: MACs for messages to one peer, and the cookies of that peer's replies. */
export class MacWriter {
  readonly #mac1Key: Uint8Array;
  readonly #cookieKey: Uint8Array;
  /** `mac1` of the last message, which authenticates a cookie reply. */
  readonly #lastMac1 = new Uint8Array(MAC_SIZE);
  #hasSent = false;
  #cookie: Uint8Array | undefined;
  #cookieAt = -Infinity;

  /** @param publicKey the public key of the peer. */
  constructor(publicKey: Uint8Array) {
    this.#mac1Key = blake2s256(MAC1_LABEL, publicKey);
    this.#cookieKey = blake2s256(COOKIE_LABEL, publicKey);
  }

  /** Writes both MACs at the end of `message`; without a valid cookie `mac2` stays zero. */
  write(message: Uint8Array, now: number): void {
    const at = mac1At(message);
    const mac1 = blake2sMac(this.#mac1Key, message.subarray(0, at));
    message.set(mac1, at);
    this.#lastMac1.set(mac1);
    this.#hasSent = true;
    if (this.#cookie === undefined || now - this.#cookieAt >= COOKIE_SECRET_TIME) return;
    const beforeMac2 = at + MAC_SIZE;
    message.set(blake2sMac(this.#cookie, message.subarray(0, beforeMac2)), beforeMac2);
  }

  /**
   * Reads a cookie reply: the next message has a `mac2`.
   * @returns false when it is not authentic, or not a reply to the last message.
   */
  readReply(reply: Uint8Array, now: number): boolean {
    if (!this.#hasSent) return false;
    const nonce = reply.subarray(
      CookieReplyOffset.nonce,
      CookieReplyOffset.nonce + COOKIE_NONCE_SIZE,
    );
    const cookie = new Uint8Array(MAC_SIZE);
    using opener = createOpener('xchacha20-poly1305', this.#cookieKey);
    if (!opener.open(nonce, reply.subarray(CookieReplyOffset.cookie), cookie, this.#lastMac1))
      return false;
    // A message has one reply; another one is a copy.
    this.#hasSent = false;
    this.#cookie = cookie;
    this.#cookieAt = now;
    return true;
  }
}

/** The result of checking both MACs. */
export type MacVerdict =
  /** `mac1` is invalid. */
  | 'invalid'
  /** Only `mac1` is valid. */
  | 'known key'
  /** Both MACs are valid. */
  | 'known address';

/** The receiver's side: checks MACs and creates cookie replies. */
export class MacReader {
  readonly #mac1Key: Uint8Array;
  readonly #cookieKey: Uint8Array;
  readonly #random: RandomSource;
  readonly #secret = new Uint8Array(KEY_SIZE);
  #secretAt = -Infinity;

  /** @param publicKey the public key of this side. */
  constructor(publicKey: Uint8Array, random: RandomSource) {
    this.#mac1Key = blake2s256(MAC1_LABEL, publicKey);
    this.#cookieKey = blake2s256(COOKIE_LABEL, publicKey);
    this.#random = random;
  }

  check(message: Uint8Array, from: IpEndpoint, now: number): MacVerdict {
    const at = mac1At(message);
    const beforeMac2 = at + MAC_SIZE;
    const mac1 = blake2sMac(this.#mac1Key, message.subarray(0, at));
    if (!equalInConstantTime(mac1, message.subarray(at, beforeMac2))) return 'invalid';
    const sent = message.subarray(beforeMac2);
    if (now - this.#secretAt >= COOKIE_SECRET_TIME || isZero(sent)) return 'known key';
    const mac2 = blake2sMac(this.#cookieFor(from), message.subarray(0, beforeMac2));
    return equalInConstantTime(mac2, sent) ? 'known address' : 'known key';
  }

  /** Returns the cookie reply to a message whose sender has to validate its address first. */
  reply(message: Uint8Array, from: IpEndpoint, now: number): Uint8Array {
    if (now - this.#secretAt >= COOKIE_SECRET_TIME) {
      this.#random.fill(this.#secret);
      this.#secretAt = now;
    }
    const reply = new Uint8Array(COOKIE_REPLY_SIZE);
    reply[0] = MessageType.COOKIE_REPLY;
    // Both handshake messages have the sender's index at this offset.
    writeIndex(reply, CookieReplyOffset.receiver, readIndex(message, 4));
    const nonce = reply.subarray(
      CookieReplyOffset.nonce,
      CookieReplyOffset.nonce + COOKIE_NONCE_SIZE,
    );
    this.#random.fill(nonce);
    const at = mac1At(message);
    const mac1 = message.subarray(at, at + MAC_SIZE);
    using sealer = createSealer('xchacha20-poly1305', this.#cookieKey);
    sealer.seal(nonce, this.#cookieFor(from), reply.subarray(CookieReplyOffset.cookie), mac1);
    return reply;
  }

  /** Returns the cookie of an address and port under the current secret. */
  #cookieFor(from: IpEndpoint): Uint8Array {
    const port = Uint8Array.of(from.port >> 8, from.port);
    return blake2sMac(this.#secret, Buffer.concat([addressBytes(from), port]));
  }
}

const isZero = (bytes: Uint8Array): boolean => bytes.every((octet) => octet === 0);
