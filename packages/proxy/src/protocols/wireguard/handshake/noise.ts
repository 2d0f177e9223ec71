import { createOpener, createSealer } from '@weir/crypto/aead';
import { blake2s256, hmacBlake2s } from '@weir/crypto/hash/blake2';
import { equalInConstantTime } from '@weir/crypto/hash';
import { copyOf } from '@weir/base/bytes';
import { X25519PrivateKey } from '@weir/crypto/x25519';
import {
  INITIATION_SIZE,
  RESPONSE_SIZE,
  InitiationOffset,
  ResponseOffset,
  KEY_SIZE,
  MessageType,
  readIndex,
  TAG_SIZE,
  writeIndex,
} from '../wire.ts';

/*
 * The handshake of WireGuard: Noise_IKpsk2_25519_ChaChaPoly_BLAKE2s (whitepaper §5.4). Messages are
 * written and read without `mac1` and `mac2`, which are in `cookies.ts`.
 *
 * Beside the lines are the formulas of the whitepaper: C is the chaining key, H the hash, κ a key, S and E
 * the static and ephemeral keys of the initiator (i) and the responder (r), Q the preshared key.
 */

const CONSTRUCTION = Buffer.from('Noise_IKpsk2_25519_ChaChaPoly_BLAKE2s');
const IDENTIFIER = Buffer.from('WireGuard v1 zx2c4 Jason@zx2c4.com');

// C := HASH(CONSTRUCTION)
const FIRST_CHAINING_KEY = blake2s256(CONSTRUCTION);
// H := HASH(C ‖ IDENTIFIER)
const FIRST_HASH = blake2s256(FIRST_CHAINING_KEY, IDENTIFIER);

const EMPTY = new Uint8Array(0);
const ZERO_NONCE = new Uint8Array(12);
const NO_KEY = new Uint8Array(KEY_SIZE);

/** The static keys of a peer and this side. */
export interface StaticKeys {
  readonly privateKey: X25519PrivateKey;
  readonly peerPublicKey: Uint8Array;
  /** The preshared key; 32 zeros if there is none. */
  readonly presharedKey: Uint8Array;
  /** The DH result of the two static keys. */
  readonly staticSecret: Uint8Array;
}

/**
 * @param presharedKey `undefined` for none.
 * @returns `undefined` for a public key of low order, with which no handshake can succeed.
 */
export function createStaticKeys(
  privateKey: Uint8Array,
  peerPublicKey: Uint8Array,
  presharedKey: Uint8Array = NO_KEY,
): StaticKeys | undefined {
  const own = new X25519PrivateKey(privateKey);
  const staticSecret = own.sharedSecret(peerPublicKey);
  return staticSecret && { privateKey: own, peerPublicKey, presharedKey, staticSecret };
}

/** The keys of a session (§5.4.5). The owner overwrites them after use. */
export interface SessionKeys {
  readonly sending: Uint8Array;
  readonly receiving: Uint8Array;
}

/** Noise's SymmetricState: the chaining key and the hash of all that was sent so far. */
class Transcript {
  #chainingKey: Uint8Array = Uint8Array.from(FIRST_CHAINING_KEY);
  #hash: Uint8Array;

  constructor(responderStatic: Uint8Array) {
    // H := HASH(H ‖ S_pub_r)
    this.#hash = blake2s256(FIRST_HASH, responderStatic);
  }

  /** Returns a second transcript with the same contents. */
  copy(): Transcript {
    const copy = new Transcript(EMPTY);
    copy.#chainingKey = Uint8Array.from(this.#chainingKey);
    copy.#hash = Uint8Array.from(this.#hash);
    return copy;
  }

  /** H := HASH(H ‖ bytes) */
  mixHash(bytes: Uint8Array): void {
    this.#hash = blake2s256(this.#hash, bytes);
  }

  /** C := KDF1(C, input) */
  mixChainingKey(input: Uint8Array): void {
    const [next] = derive(this.#chainingKey, input, 1);
    this.#chain(next);
  }

  /** (C, κ) := KDF2(C, input) @returns κ. */
  mixKey(input: Uint8Array): Uint8Array {
    const [next, key] = derive(this.#chainingKey, input, 2);
    this.#chain(next);
    return key;
  }

  /** (C, τ, κ) := KDF3(C, input); H := HASH(H ‖ τ) @returns κ. */
  mixKeyAndHash(input: Uint8Array): Uint8Array {
    const [next, hashed, key] = derive(this.#chainingKey, input, 3);
    this.#chain(next);
    this.mixHash(hashed);
    return key;
  }

  /** Writes AEAD(κ, 0, plain, H) to `out` at `at`; H := HASH(H ‖ sealed). The key is overwritten. */
  encryptAndHash(key: Uint8Array, plain: Uint8Array, out: Uint8Array, at: number): void {
    const sealed = out.subarray(at, at + plain.length + TAG_SIZE);
    using sealer = createSealer('chacha20-poly1305', key);
    key.fill(0);
    sealer.seal(ZERO_NONCE, Uint8Array.from(plain), sealed, this.#hash);
    this.mixHash(sealed);
  }

  /** Decrypts `sealed`; `undefined` when it is not authentic. The key is overwritten. */
  decryptAndHash(key: Uint8Array, sealed: Uint8Array): Uint8Array | undefined {
    const plain = new Uint8Array(sealed.length - TAG_SIZE);
    using opener = createOpener('chacha20-poly1305', key);
    key.fill(0);
    if (!opener.open(ZERO_NONCE, sealed, plain, this.#hash)) return undefined;
    this.mixHash(sealed);
    return plain;
  }

  /** KDF2(C, ε): the sending keys of the initiator and of the responder. C is overwritten. */
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

/** KDF1 to KDF3 of §5.4: HKDF with `count` keys of 32 bytes. */
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
  readonly #staticKeys: StaticKeys;
  readonly #ephemeral: X25519PrivateKey;
  readonly #transcript: Transcript;

  /**
   * @param index the index that the peer puts into its messages.
   * @param ephemeral 32 random bytes, which are overwritten.
   */
  constructor(staticKeys: StaticKeys, index: number, ephemeral: Uint8Array) {
    this.#staticKeys = staticKeys;
    this.index = index;
    this.#ephemeral = new X25519PrivateKey(ephemeral);
    ephemeral.fill(0);
    this.#transcript = new Transcript(staticKeys.peerPublicKey);
  }

  /**
   * Writes the initiation without `mac1` and `mac2` (§5.4.2). Called once.
   * @param timestamp TAI64N, later than any sent to the peer before.
   */
  initiation(timestamp: Uint8Array): Uint8Array {
    const { privateKey, peerPublicKey, staticSecret } = this.#staticKeys;
    const transcript = this.#transcript;
    const message = new Uint8Array(INITIATION_SIZE);
    message[0] = MessageType.INITIATION;
    writeIndex(message, InitiationOffset.sender, this.index);
    // msg.ephemeral := E_pub_i
    message.set(this.#ephemeral.publicKey, InitiationOffset.ephemeral);
    // H := HASH(H ‖ msg.ephemeral)
    transcript.mixHash(this.#ephemeral.publicKey);
    // C := KDF1(C, E_pub_i)
    transcript.mixChainingKey(this.#ephemeral.publicKey);
    // (C, κ) := KDF2(C, DH(E_priv_i, S_pub_r)); `createStaticKeys` rejects a key of low order.
    const staticKey = transcript.mixKey(this.#ephemeral.sharedSecret(peerPublicKey) ?? NO_KEY);
    // msg.static := AEAD(κ, 0, S_pub_i, H); H := HASH(H ‖ msg.static)
    transcript.encryptAndHash(staticKey, privateKey.publicKey, message, InitiationOffset.static);
    // (C, κ) := KDF2(C, DH(S_priv_i, S_pub_r))
    const timestampKey = transcript.mixKey(staticSecret);
    // msg.timestamp := AEAD(κ, 0, TIMESTAMP(), H); H := HASH(H ‖ msg.timestamp)
    transcript.encryptAndHash(timestampKey, timestamp, message, InitiationOffset.timestamp);
    return message;
  }

  /**
   * Reads a response (§5.4.3).
   *
   * @returns the keys and the peer's index; `undefined` when it is not authentic: an authentic one may follow.
   */
  accept(
    message: Uint8Array,
  ): { readonly keys: SessionKeys; readonly peerIndex: number } | undefined {
    const { privateKey, presharedKey } = this.#staticKeys;
    const theirs = message.subarray(ResponseOffset.ephemeral, ResponseOffset.ephemeral + KEY_SIZE);
    const ephemeralSecret = this.#ephemeral.sharedSecret(theirs);
    const staticSecret = privateKey.sharedSecret(theirs);
    if (!ephemeralSecret || !staticSecret) return undefined;
    const transcript = this.#transcript.copy();
    // H := HASH(H ‖ msg.ephemeral)
    transcript.mixHash(theirs);
    // C := KDF1(C, E_pub_r)
    transcript.mixChainingKey(theirs);
    // C := KDF1(C, DH(E_priv_i, E_pub_r))
    transcript.mixChainingKey(ephemeralSecret);
    // C := KDF1(C, DH(S_priv_i, E_pub_r))
    transcript.mixChainingKey(staticSecret);
    // (C, τ, κ) := KDF3(C, Q); H := HASH(H ‖ τ)
    const key = transcript.mixKeyAndHash(presharedKey);
    const empty = message.subarray(ResponseOffset.empty, ResponseOffset.empty + TAG_SIZE);
    // msg.empty = AEAD(κ, 0, ε, H); H := HASH(H ‖ msg.empty)
    if (transcript.decryptAndHash(key, empty) === undefined) {
      transcript.erase();
      return undefined;
    }
    // (T_send_i, T_recv_i) := KDF2(C, ε)
    const [sending, receiving] = transcript.split();
    this.erase();
    return {
      keys: { sending, receiving },
      peerIndex: readIndex(message, ResponseOffset.sender),
    };
  }

  /** Overwrites the secrets from which the keys could be computed. */
  erase(): void {
    this.#transcript.erase();
  }
}

/** The responder's side of one handshake, from an authentic initiation to its keys. */
export class Responder {
  readonly timestamp: Uint8Array;
  readonly peerIndex: number;
  readonly #staticKeys: StaticKeys;
  readonly #transcript: Transcript;
  readonly #theirEphemeral: Uint8Array;

  private constructor(
    staticKeys: StaticKeys,
    transcript: Transcript,
    message: Uint8Array,
    timestamp: Uint8Array,
  ) {
    this.#staticKeys = staticKeys;
    this.#transcript = transcript;
    this.timestamp = timestamp;
    this.peerIndex = readIndex(message, InitiationOffset.sender);
    const { ephemeral, static: end } = InitiationOffset;
    this.#theirEphemeral = copyOf(message, ephemeral, end);
  }

  /** Reads an initiation (§5.4.2); `undefined` when it is not authentic, or another peer's. */
  static read(staticKeys: StaticKeys, message: Uint8Array): Responder | undefined {
    const { privateKey, peerPublicKey, staticSecret } = staticKeys;
    const theirs = message.subarray(
      InitiationOffset.ephemeral,
      InitiationOffset.ephemeral + KEY_SIZE,
    );
    const secret = privateKey.sharedSecret(theirs);
    if (!secret) return undefined;
    const transcript = new Transcript(privateKey.publicKey);
    // H := HASH(H ‖ msg.ephemeral)
    transcript.mixHash(theirs);
    // C := KDF1(C, E_pub_i)
    transcript.mixChainingKey(theirs);
    // (C, κ) := KDF2(C, DH(S_priv_r, E_pub_i))
    const staticKey = transcript.mixKey(secret);
    // msg.static = AEAD(κ, 0, S_pub_i, H); H := HASH(H ‖ msg.static)
    const sealedStatic = message.subarray(InitiationOffset.static, InitiationOffset.timestamp);
    const peer = transcript.decryptAndHash(staticKey, sealedStatic);
    if (!peer || !equalInConstantTime(peer, peerPublicKey)) {
      transcript.erase();
      return undefined;
    }
    // (C, κ) := KDF2(C, DH(S_priv_r, S_pub_i))
    const timestampKey = transcript.mixKey(staticSecret);
    // msg.timestamp = AEAD(κ, 0, TIMESTAMP(), H); H := HASH(H ‖ msg.timestamp)
    const sealedTimestamp = message.subarray(InitiationOffset.timestamp, InitiationOffset.mac1);
    const timestamp = transcript.decryptAndHash(timestampKey, sealedTimestamp);
    if (!timestamp) {
      transcript.erase();
      return undefined;
    }
    return new Responder(staticKeys, transcript, message, timestamp);
  }

  /**
   * Writes the response without `mac1` and `mac2` (§5.4.3), and derives the keys; `undefined` when the peer's ephemeral
   * key is of low order. Called once.
   *
   * @param index the index that the peer puts into its messages.
   * @param ephemeral 32 random bytes, which are overwritten.
   */
  respond(
    index: number,
    ephemeral: Uint8Array,
  ): { readonly message: Uint8Array; readonly keys: SessionKeys } | undefined {
    const { peerPublicKey, presharedKey } = this.#staticKeys;
    const transcript = this.#transcript;
    const own = new X25519PrivateKey(ephemeral);
    ephemeral.fill(0);
    const ephemeralSecret = own.sharedSecret(this.#theirEphemeral);
    const staticSecret = own.sharedSecret(peerPublicKey);
    if (!ephemeralSecret || !staticSecret) {
      transcript.erase();
      return undefined;
    }
    const message = new Uint8Array(RESPONSE_SIZE);
    message[0] = MessageType.RESPONSE;
    writeIndex(message, ResponseOffset.sender, index);
    writeIndex(message, ResponseOffset.receiver, this.peerIndex);
    // msg.ephemeral := E_pub_r
    message.set(own.publicKey, ResponseOffset.ephemeral);
    // H := HASH(H ‖ msg.ephemeral)
    transcript.mixHash(own.publicKey);
    // C := KDF1(C, E_pub_r)
    transcript.mixChainingKey(own.publicKey);
    // C := KDF1(C, DH(E_priv_r, E_pub_i))
    transcript.mixChainingKey(ephemeralSecret);
    // C := KDF1(C, DH(E_priv_r, S_pub_i))
    transcript.mixChainingKey(staticSecret);
    // (C, τ, κ) := KDF3(C, Q); H := HASH(H ‖ τ)
    const key = transcript.mixKeyAndHash(presharedKey);
    // msg.empty := AEAD(κ, 0, ε, H); H := HASH(H ‖ msg.empty)
    transcript.encryptAndHash(key, EMPTY, message, ResponseOffset.empty);
    // (T_recv_r, T_send_r) := KDF2(C, ε)
    const [receiving, sending] = transcript.split();
    return { message, keys: { sending, receiving } };
  }

  /** Overwrites the secrets from which the keys could be computed, instead of `respond`. */
  erase(): void {
    this.#transcript.erase();
  }
}
