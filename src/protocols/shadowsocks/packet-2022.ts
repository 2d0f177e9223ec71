import type { RandomSource } from '../../crypto/random-source.ts';
import { createOpener, createSealer, TAG_LENGTH } from '../../crypto/aead.ts';
import type { Opener, Sealer } from '../../crypto/aead.ts';
import { ProtocolError } from '../../net/errors.ts';
import type { Packet } from '../../net/link.ts';
import { decodeAddressed } from './datagram-codec.ts';
import { subkeyOf } from './keys.ts';
import type { Method } from './methods.ts';
import { checkStamp, HeaderType, MAX_PADDING, writeStamp } from './wire-2022.ts';

/** Datagrams of SIP022 §3.2 and §4.1: what both sides and both constructions share. */

/** Session id and packet id. */
export const SESSION_HEADER = 16;
export const SESSION_ID = 8;
/** Random nonce of the construction with XChaCha20. */
export const LONG_NONCE = 24;
const STAMP = 1 + 8;
const DNS_PORT = 53;
/** Packets that may arrive late, counted back from the newest of their session. */
export const REPLAY_WINDOW = 2048;

/** Whether session and packet id stand in a block of their own, under AES. */
export const hasSeparateHeader = ({ aead }: Method): boolean => aead !== 'chacha20-poly1305';

/** The id of a packet; `undefined` for one that no session gets to. */
export function packetIdOf(header: Buffer): number | undefined {
  const high = header.readUInt32BE(SESSION_ID);
  return high > 0x1f_ffff ? undefined : high * 2 ** 32 + header.readUInt32BE(SESSION_ID + 4);
}

/** The numbering of the packets of one session. */
export class Session2022 {
  readonly id: Buffer;
  #next = 0;

  constructor(random: RandomSource) {
    this.id = random.bytes(SESSION_ID);
  }

  /** The header of the next packet. */
  header(): Buffer {
    const header = Buffer.allocUnsafe(SESSION_HEADER);
    header.set(this.id);
    header.writeUInt32BE(Math.floor(this.#next / 2 ** 32), SESSION_ID);
    header.writeUInt32BE(this.#next % 2 ** 32, SESSION_ID + 4);
    this.#next++;
    return header;
  }
}

/** What a main header says beside type and time. */
export interface MessageParts {
  readonly wallMs: number;
  /** Stands in answers only: the session that they answer. */
  readonly clientSession: Uint8Array | undefined;
}

/** Messages to a port where they all look alike get padding; elsewhere it would cost packets. */
export const paddingFor = (port: number, random: RandomSource): number =>
  port === DNS_PORT ? 1 + random.below(MAX_PADDING) : 0;

/** The length of what `writeMessage` writes. */
export const messageLength = (
  { clientSession }: MessageParts,
  padding: number,
  address: Uint8Array,
  data: Uint8Array,
): number => STAMP + (clientSession?.length ?? 0) + 2 + padding + address.length + data.length;

/** Writes main header and data at `offset` (§3.2.3). */
export function writeMessage(
  out: Buffer,
  offset: number,
  { wallMs, clientSession }: MessageParts,
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

/** Reads main header and data at `offset`; `undefined` for what is not meant for us now. */
export function readMessage(
  bytes: Buffer,
  offset: number,
  { wallMs, clientSession }: MessageParts,
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
  return decodeAddressed(bytes, at);
}

/** The cipher of a session's bodies; the construction with XChaCha20 has the key itself. */
export const sessionSealer = (method: Method, key: Uint8Array, session: Uint8Array): Sealer =>
  hasSeparateHeader(method)
    ? createSealer(method.aead, subkeyOf(method, key, session))
    : createSealer('xchacha20-poly1305', key);

export const sessionOpener = (method: Method, key: Uint8Array, session: Uint8Array): Opener =>
  hasSeparateHeader(method)
    ? createOpener(method.aead, subkeyOf(method, key, session))
    : createOpener('xchacha20-poly1305', key);

/** Opens a body to a buffer of its own; `undefined` when it is not authentic. */
export function openBody(
  opener: Opener,
  nonce: Uint8Array,
  sealed: Uint8Array,
): Buffer | undefined {
  if (sealed.length < TAG_LENGTH) return undefined;
  const plain = Buffer.allocUnsafe(sealed.length - TAG_LENGTH);
  return opener.open(nonce, sealed, plain) ? plain : undefined;
}
