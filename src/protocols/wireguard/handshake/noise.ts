import { createOpener, createSealer } from '../../../crypto/aead/aead.ts';
import { blake2s256, hmacBlake2s } from '../../../crypto/hash/blake2s.ts';
import { equalInConstantTime } from '../../../crypto/hash/keyed-hash.ts';
import { copyOf } from '../../../collections/copy-bytes.ts';
import { X25519PrivateKey } from '../../../crypto/x25519.ts';
import {
  Initiation,
  KEY_SIZE,
  MessageType,
  readIndex,
  Response,
  TAG_SIZE,
  writeIndex,
} from '../wire.ts';

/*
 * The handshake of WireGuard: Noise_IKpsk2_25519_ChaChaPoly_BLAKE2s (whitepaper §5.4). Messages are
 * written and read without their codes `mac1` and `mac2`, which are in `cookies.ts`.
 */

const CONSTRUCTION = Buffer.from('Noise_IKpsk2_25519_ChaChaPoly_BLAKE2s');
const IDENTIFIER = Buffer.from('WireGuard v1 zx2c4 Jason@zx2c4.com');

/** The chaining key and the hash that every handshake begins with. */
const FIRST_CHAINING_KEY = blake2s256(CONSTRUCTION);
const FIRST_HASH = blake2s256(FIRST_CHAINING_KEY, IDENTIFIER);

const EMPTY = new Uint8Array(0);
const ZERO_NONCE = new Uint8Array(12);
const NO_KEY = new Uint8Array(KEY_SIZE);

/** Both sides' static keys, as one side knows them. */
export interface Identity {
  readonly privateKey: X25519PrivateKey;
  readonly peerPublicKey: Uint8Array;
  /** 32 zeros where there is none. */
  readonly presharedKey: Uint8Array;
  /** What the two static keys have in common. */
  readonly staticSecret: Uint8Array;
}

/**
 * @param presharedKey `undefined` for none.
 * @returns undefined for a public key of low order, with which no handshake can succeed.
 */
export function createIdentity(
  privateKey: Uint8Array,
  peerPublicKey: Uint8Array,
  presharedKey: Uint8Array = NO_KEY,
): Identity | undefined {
  const own = new X25519PrivateKey(privateKey);
  const staticSecret = own.sharedSecret(peerPublicKey);
  return staticSecret && { privateKey: own, peerPublicKey, presharedKey, staticSecret };
}

/** The keys of a session (§5.4.5). Who takes them overwrites them. */
export interface SessionKeys {
  readonly sending: Uint8Array;
  readonly receiving: Uint8Array;
}

/** What both sides have in common so far. */
class Transcript {
  #chainingKey: Uint8Array = Uint8Array.from(FIRST_CHAINING_KEY);
  #hash: Uint8Array;

  constructor(responderStatic: Uint8Array) {
    this.#hash = blake2s256(FIRST_HASH, responderStatic);
  }

  /** Another one with the same contents. */
  copy(): Transcript {
    const copy = new Transcript(EMPTY);
    copy.#chainingKey = Uint8Array.from(this.#chainingKey);
    copy.#hash = Uint8Array.from(this.#hash);
    return copy;
  }

  mixHash(bytes: Uint8Array): void {
    this.#hash = blake2s256(this.#hash, bytes);
  }

  /** KDF1: the chaining key depends on `input` from now on. */
  mix(input: Uint8Array): void {
    const [next] = derive(this.#chainingKey, input, 1);
    this.#chain(next);
  }

  /** KDF2: the same, with a key. */
  mixKey(input: Uint8Array): Uint8Array {
    const [next, key] = derive(this.#chainingKey, input, 2);
    this.#chain(next);
    return key;
  }

  /** KDF3: the pre-shared key goes into the chaining key, the hash, and the key that it returns. */
  mixPresharedKey(presharedKey: Uint8Array): Uint8Array {
    const [next, bound, key] = derive(this.#chainingKey, presharedKey, 3);
    this.#chain(next);
    this.mixHash(bound);
    return key;
  }

  /** Writes `plain` and its tag to `out` at `at`. The key is overwritten. */
  seal(key: Uint8Array, plain: Uint8Array, out: Uint8Array, at: number): void {
    const sealed = out.subarray(at, at + plain.length + TAG_SIZE);
    using sealer = createSealer('chacha20-poly1305', key);
    key.fill(0);
    sealer.seal(ZERO_NONCE, Uint8Array.from(plain), sealed, this.#hash);
    this.mixHash(sealed);
  }

  /** The plaintext of `sealed`; `undefined` when it is not authentic. The key is overwritten. */
  open(key: Uint8Array, sealed: Uint8Array): Uint8Array | undefined {
    const plain = new Uint8Array(sealed.length - TAG_SIZE);
    using opener = createOpener('chacha20-poly1305', key);
    key.fill(0);
    if (!opener.open(ZERO_NONCE, sealed, plain, this.#hash)) return undefined;
    this.mixHash(sealed);
    return plain;
  }

  /** The keys of the initiator's direction and of the responder's. The chaining key is overwritten. */
  split(): readonly [Uint8Array, Uint8Array] {
    const [initiators, responders] = derive(this.#chainingKey, EMPTY, 2);
    this.erase();
    return [initiators, responders];
  }

  erase(): void {
    this.#chainingKey.fill(0);
    this.#hash.fill(0);
  }

  #chain(next: Uint8Array): void {
    this.#chainingKey.fill(0);
    this.#chainingKey = next;
  }
}

/** KDF1 to KDF3 of §5.4: HKDF with so many keys of 32 bytes. */
export function derive(key: Uint8Array, input: Uint8Array, count: 1): readonly [Uint8Array];
export function derive(
  key: Uint8Array,
  input: Uint8Array,
  count: 2,
): readonly [Uint8Array, Uint8Array];
export function derive(
  key: Uint8Array,
  input: Uint8Array,
  count: 3,
): readonly [Uint8Array, Uint8Array, Uint8Array];
export function derive(
  key: Uint8Array,
  input: Uint8Array,
  count: 1 | 2 | 3,
): readonly Uint8Array[] {
  const secret = hmacBlake2s(key, input);
  const keys: Uint8Array[] = [];
  let previous: Uint8Array = EMPTY;
  for (let number = 1; number <= count; number++) {
    previous = hmacBlake2s(secret, previous, Uint8Array.of(number));
    keys.push(previous);
  }
  secret.fill(0);
  return keys;
}

/** The initiator's side of one handshake, from its first message to its keys. */
export class Initiator {
  readonly index: number;
  readonly #identity: Identity;
  readonly #ephemeral: X25519PrivateKey;
  readonly #transcript: Transcript;

  /**
   * @param index that the peer is to name.
   * @param ephemeral 32 random bytes, which are overwritten.
   */
  constructor(identity: Identity, index: number, ephemeral: Uint8Array) {
    this.#identity = identity;
    this.index = index;
    this.#ephemeral = new X25519PrivateKey(ephemeral);
    ephemeral.fill(0);
    this.#transcript = new Transcript(identity.peerPublicKey);
  }

  /**
   * The initiation, without its codes. Called once.
   * @param timestamp TAI64N, later than any that the peer has seen.
   */
  initiation(timestamp: Uint8Array): Uint8Array {
    const { privateKey, peerPublicKey, staticSecret } = this.#identity;
    const transcript = this.#transcript;
    const message = new Uint8Array(Initiation.size);
    message[0] = MessageType.INITIATION;
    writeIndex(message, Initiation.sender, this.index);
    message.set(this.#ephemeral.publicKey, Initiation.ephemeral);
    transcript.mixHash(this.#ephemeral.publicKey);
    transcript.mix(this.#ephemeral.publicKey);
    // `createIdentity` has shown that the peer's key is not of low order.
    const staticKey = transcript.mixKey(this.#ephemeral.sharedSecret(peerPublicKey) ?? NO_KEY);
    transcript.seal(staticKey, privateKey.publicKey, message, Initiation.static);
    const timestampKey = transcript.mixKey(staticSecret);
    transcript.seal(timestampKey, timestamp, message, Initiation.timestamp);
    return message;
  }

  /**
   * The keys that a response leads to, with the peer's index; `undefined` when it is not authentic: then
   * another one may follow.
   */
  accept(
    message: Uint8Array,
  ): { readonly keys: SessionKeys; readonly peerIndex: number } | undefined {
    const { privateKey, presharedKey } = this.#identity;
    const theirs = message.subarray(Response.ephemeral, Response.ephemeral + KEY_SIZE);
    const ephemeralSecret = this.#ephemeral.sharedSecret(theirs);
    const staticSecret = privateKey.sharedSecret(theirs);
    if (!ephemeralSecret || !staticSecret) return undefined;
    const transcript = this.#transcript.copy();
    transcript.mixHash(theirs);
    transcript.mix(theirs);
    transcript.mix(ephemeralSecret);
    transcript.mix(staticSecret);
    const key = transcript.mixPresharedKey(presharedKey);
    const nothing = message.subarray(Response.nothing, Response.nothing + TAG_SIZE);
    if (transcript.open(key, nothing) === undefined) {
      transcript.erase();
      return undefined;
    }
    const [sending, receiving] = transcript.split();
    this.erase();
    return { keys: { sending, receiving }, peerIndex: readIndex(message, Response.sender) };
  }

  /** Overwrites what the keys could be computed from. */
  erase(): void {
    this.#transcript.erase();
  }
}

/** An initiation that came from the peer, up to the response. */
export class Responder {
  readonly timestamp: Uint8Array;
  readonly peerIndex: number;
  readonly #identity: Identity;
  readonly #transcript: Transcript;
  readonly #theirEphemeral: Uint8Array;

  private constructor(
    identity: Identity,
    transcript: Transcript,
    message: Uint8Array,
    timestamp: Uint8Array,
  ) {
    this.#identity = identity;
    this.#transcript = transcript;
    this.timestamp = timestamp;
    this.peerIndex = readIndex(message, Initiation.sender);
    const { ephemeral, static: end } = Initiation;
    this.#theirEphemeral = copyOf(message, ephemeral, end);
  }

  /** Reads an initiation; `undefined` when it is not authentic, or another peer's. */
  static read(identity: Identity, message: Uint8Array): Responder | undefined {
    const { privateKey, peerPublicKey, staticSecret } = identity;
    const theirs = message.subarray(Initiation.ephemeral, Initiation.ephemeral + KEY_SIZE);
    const secret = privateKey.sharedSecret(theirs);
    if (!secret) return undefined;
    const transcript = new Transcript(privateKey.publicKey);
    transcript.mixHash(theirs);
    transcript.mix(theirs);
    const sealedStatic = message.subarray(Initiation.static, Initiation.timestamp);
    const peer = transcript.open(transcript.mixKey(secret), sealedStatic);
    if (!peer || !equalInConstantTime(peer, peerPublicKey)) {
      transcript.erase();
      return undefined;
    }
    const sealedTimestamp = message.subarray(Initiation.timestamp, Initiation.mac1);
    const timestamp = transcript.open(transcript.mixKey(staticSecret), sealedTimestamp);
    if (!timestamp) {
      transcript.erase();
      return undefined;
    }
    return new Responder(identity, transcript, message, timestamp);
  }

  /**
   * The response, without its codes, and the keys; `undefined` when the peer's ephemeral key is of low
   * order. Called once.
   *
   * @param index that the peer is to name.
   * @param ephemeral 32 random bytes, which are overwritten.
   */
  respond(
    index: number,
    ephemeral: Uint8Array,
  ): { readonly message: Uint8Array; readonly keys: SessionKeys } | undefined {
    const { peerPublicKey, presharedKey } = this.#identity;
    const transcript = this.#transcript;
    const own = new X25519PrivateKey(ephemeral);
    ephemeral.fill(0);
    const ephemeralSecret = own.sharedSecret(this.#theirEphemeral);
    const staticSecret = own.sharedSecret(peerPublicKey);
    if (!ephemeralSecret || !staticSecret) {
      transcript.erase();
      return undefined;
    }
    const message = new Uint8Array(Response.size);
    message[0] = MessageType.RESPONSE;
    writeIndex(message, Response.sender, index);
    writeIndex(message, Response.receiver, this.peerIndex);
    message.set(own.publicKey, Response.ephemeral);
    transcript.mixHash(own.publicKey);
    transcript.mix(own.publicKey);
    transcript.mix(ephemeralSecret);
    transcript.mix(staticSecret);
    const key = transcript.mixPresharedKey(presharedKey);
    transcript.seal(key, EMPTY, message, Response.nothing);
    const [receiving, sending] = transcript.split();
    return { message, keys: { sending, receiving } };
  }

  /** Overwrites what the keys could be computed from, where there is no response. */
  erase(): void {
    this.#transcript.erase();
  }
}
