import { createSealer, TAG_LENGTH, type Sealer } from '@weir/crypto/aead';
import type { RandomSource } from '@weir/base/random';
import { ProtocolError } from '@weir/io';
import { decodeAddressed, SOCKS_ADDRESS } from '@weir/io/addresses';
import type { Packet } from '@weir/io/links';
import { subkeyOf } from '../keys.ts';
import type { Method } from '../methods.ts';
import { AddressMemo } from '../packets.ts';
import { BlockCipher, identityOf, xor } from './identity.ts';
import type { SealingDeps } from './stream.ts';
import { checkStamp, HeaderType, MAX_PADDING, writeStamp } from './wire.ts';

/** Datagrams of SIP022 §3.2 and §4.1, for both sides and both constructions. */

/** The length of session id and packet id together, in bytes. */
export const SESSION_HEADER = 16;
/** The length of a session id. */
export const SESSION_ID = 8;
/** The length of the random nonce in the construction with XChaCha20. */
export const LONG_NONCE = 24;
const STAMP = 1 + 8;
const DNS_PORT = 53;
/** Whether session id and packet id are a separate block, encrypted with AES. */
export const hasSeparateHeader = ({ aead }: Method): boolean => aead !== 'chacha20-poly1305';

/** The id of a session of this side, and the numbering of its packets. */
class SendingSession {
  readonly id: Buffer;
  #next = 0;

  constructor(random: RandomSource) {
    this.id = random.bytes(SESSION_ID);
  }

  /** Returns the header of the next packet. */
  header(): Buffer {
    const header = Buffer.allocUnsafe(SESSION_HEADER);
    header.set(this.id);
    header.writeUInt32BE(Math.floor(this.#next / 2 ** 32), SESSION_ID);
    header.writeUInt32BE(this.#next % 2 ** 32, SESSION_ID + 4);
    this.#next++;
    return header;
  }
}

/** Contents of main headers, which are also checked on receipt. */
export interface MessageContext {
  readonly wallMs: number;
  /** The session id of the request; in responses only. */
  readonly clientSession: Uint8Array | undefined;
}

/**
 * Messages to DNS servers are padded, since their lengths are revealing; in others padding only
 * costs.
 */
const paddingLength = (port: number, random: RandomSource): number =>
  port === DNS_PORT ? 1 + random.below(MAX_PADDING) : 0;

/** Returns the length in bytes of a message that `writeMessage` writes. */
const messageLength = (
  { clientSession }: MessageContext,
  padding: number,
  address: Uint8Array,
  data: Uint8Array,
): number => STAMP + (clientSession?.length ?? 0) + 2 + padding + address.length + data.length;

/** Writes main header and data at `offset` (§3.2.3). */
function writeMessage(
  out: Buffer,
  offset: number,
  { wallMs, clientSession }: MessageContext,
  padding: Uint8Array,
  address: Uint8Array,
  data: Uint8Array,
): void {
  writeStamp(out, clientSession ? HeaderType.server : HeaderType.client, wallMs, offset);
  let at = offset + STAMP;
  if (clientSession) {
    out.set(clientSession, at);
    at += clientSession.length;
  }
  at = out.writeUInt16BE(padding.length, at);
  out.set(padding, at);
  out.set(address, at + padding.length);
  out.set(data, at + padding.length + address.length);
}

/**
 * Reads main header and data at `offset`; `undefined` for an invalid message, or one with another
 * direction, time or session.
 */
export function readMessage(
  bytes: Buffer,
  offset: number,
  { wallMs, clientSession }: MessageContext,
): Packet | undefined {
  let at = offset + STAMP + (clientSession?.length ?? 0);
  if (bytes.length < at + 2) return undefined;
  try {
    checkStamp(bytes, clientSession ? HeaderType.server : HeaderType.client, wallMs, offset);
  } catch (error) {
    if (error instanceof ProtocolError) return undefined;
    throw error;
  }
  if (clientSession && !bytes.subarray(offset + STAMP, at).equals(clientSession)) return undefined;
  at += 2 + bytes.readUInt16BE(at);
  return decodeAddressed(bytes, at, SOCKS_ADDRESS);
}

/** Seals the bodies of a session; the construction with XChaCha20 uses the key itself. */
const sessionSealer = (method: Method, key: Uint8Array, session: Uint8Array): Sealer =>
  hasSeparateHeader(method)
    ? createSealer(method.aead, subkeyOf(method, key, session))
    : createSealer('xchacha20-poly1305', key);

/** Seals the datagrams of one session of this side. */
export class DatagramSealer implements Disposable {
  readonly session: SendingSession;
  readonly #deps: SealingDeps;
  readonly #sealer: Sealer;
  readonly #clientSession: Uint8Array | undefined;
  readonly #ciphers: readonly BlockCipher[];
  readonly #identities: readonly Buffer[];
  readonly #address = new AddressMemo();

  /**
   * @param keys for a client its chain, the user's own key last; for a server the user's key.
   * @param clientSession for a server the session id of the requests.
   */
  constructor(deps: SealingDeps, keys: readonly Uint8Array[], clientSession?: Uint8Array) {
    const own = keys.at(-1) ?? new Uint8Array(0); // there is at least one
    this.#deps = deps;
    this.#clientSession = clientSession;
    this.session = new SendingSession(deps.random);
    this.#sealer = sessionSealer(deps.method, own, this.session.id);
    this.#ciphers = hasSeparateHeader(deps.method) ? keys.map((key) => new BlockCipher(key)) : [];
    this.#identities = keys.slice(1).map(identityOf);
  }

  /** Seals a packet as a datagram; `undefined` when the peer's host does not fit. */
  seal({ data, peer }: Packet): Buffer | undefined {
    const address = this.#address.encode(peer);
    if (!address) return undefined;
    const { method, clock, random } = this.#deps;
    const context = { wallMs: clock.wall(), clientSession: this.#clientSession };
    const padding = random.bytes(paddingLength(peer.port, random));
    const length = messageLength(context, padding.length, address, data);
    const header = this.session.header();
    if (!hasSeparateHeader(method)) {
      const bodyAt = LONG_NONCE + SESSION_HEADER;
      const out = Buffer.allocUnsafe(bodyAt + length + TAG_LENGTH);
      const nonce = random.bytes(LONG_NONCE);
      out.set(nonce);
      out.set(header, LONG_NONCE);
      writeMessage(out, bodyAt, context, padding, address, data);
      this.#sealBody(nonce, out, LONG_NONCE);
      return out;
    }
    const bodyAt = SESSION_HEADER * (1 + this.#identities.length);
    const out = Buffer.allocUnsafe(bodyAt + length + TAG_LENGTH);
    this.#writeHeaders(out, header);
    writeMessage(out, bodyAt, context, padding, address, data);
    this.#sealBody(header.subarray(4), out, bodyAt);
    return out;
  }

  [Symbol.dispose](): void {
    this.#sealer[Symbol.dispose]();
  }

  #sealBody(nonce: Uint8Array, out: Buffer, at: number): void {
    this.#sealer.seal(nonce, out.subarray(at, out.length - TAG_LENGTH), out.subarray(at));
  }

  /** Writes the separate header under the first key and an identity header for each further one. */
  #writeHeaders(out: Buffer, header: Buffer): void {
    this.#ciphers.forEach((cipher, index) => {
      if (index === 0) out.set(cipher.encrypt(header));
      const identity = this.#identities[index];
      if (identity) out.set(cipher.encrypt(xor(identity, header)), SESSION_HEADER * (index + 1));
    });
  }
}
