import {
  decodeAddressField,
  encodeAddressField,
  type Endpoint,
  V2RAY_ADDRESS,
} from '@weir/io/addresses';
import { ProtocolError } from '@weir/io';
import { RejectedClientError } from '../inbounds/handshake.ts';

/**
 * Constants of VMess (v2fly developer/protocols/vmess, Xray-core common/protocol/headers.go).
 */

const VMESS_VERSION = 1;

/** Commands of a request. */
export const Command = { tcp: 1, udp: 2, mux: 3 } as const;
export type Command = (typeof Command)[keyof typeof Command];

/** Ciphers of the body. The others (none, zero, legacy) protect nothing and are refused. */
export const Security = { aes128Gcm: 3, chacha20Poly1305: 4 } as const;
export type Security = (typeof Security)[keyof typeof Security];

/** Options for the framing of both bodies, which the client chooses. */
export const Option = {
  /** Bodies consist of chunks, and end with an empty one. */
  chunkStream: 0x01,
  /** The lengths of chunks are masked. */
  masking: 0x04,
  /** Chunks have up to 63 bytes of padding; needs masking. */
  padding: 0x08,
  /** The lengths of chunks are sealed; masking then only determines the lengths of padding. */
  authenticatedLength: 0x10,
} as const;

export const KEY_LENGTH = 16;
/** Bytes of a nonce of AES-128-GCM. */
export const NONCE_LENGTH = 12;
export const AUTH_ID_LENGTH = 16;
/** Bytes of the sealed length of a header. */
export const SEALED_LENGTH = 2 + 16;
/** Random bytes that accompany a request header. */
export const CONNECTION_NONCE_LENGTH = 8;

/**
 * The header of a request in plain text (v2fly developer/protocols/vmess): version, IV, key, the
 * first byte of the response, options, length of padding and security in one byte, a reserved byte,
 * command, destination, padding, FNV-1a of all these.
 */
export interface RequestHeader {
  readonly iv: Uint8Array;
  readonly key: Uint8Array;
  readonly answer: number;
  /** Bits of `Option`; unknown ones are kept. */
  readonly options: number;
  readonly security: Security;
  readonly request:
    | { readonly command: typeof Command.tcp | typeof Command.udp; readonly destination: Endpoint }
    | { readonly command: typeof Command.mux };
}

const IV_AT = 1;
const KEY_AT = IV_AT + KEY_LENGTH;
const ANSWER_AT = KEY_AT + KEY_LENGTH;
const OPTIONS_AT = ANSWER_AT + 1;
const SECURITY_AT = OPTIONS_AT + 1;
const COMMAND_AT = SECURITY_AT + 2;
const DESTINATION_AT = COMMAND_AT + 1;
const SUM_LENGTH = 4;

/** The value of security for a body that is not sealed. */
const NONE = 5;

/** The longest padding of a header in bytes: its length has four bits. */
export const MAX_HEADER_PADDING = 15;

/** The longest header: a name of 255 bytes and the longest padding. */
export const MAX_HEADER = DESTINATION_AT + 4 + 255 + MAX_HEADER_PADDING + SUM_LENGTH;

/**
 * Encodes a header; `undefined` when the destination does not fit.
 * @param padding at most 15 bytes.
 */
export function encodeRequest(header: RequestHeader, padding: Uint8Array): Buffer | undefined {
  const { iv, key, answer, options, security, request } = header;
  const destination =
    request.command === Command.mux
      ? Buffer.alloc(0)
      : encodeAddressField(request.destination, V2RAY_ADDRESS);
  if (!destination) return undefined;
  const bytes = Buffer.concat([
    Buffer.of(VMESS_VERSION),
    iv,
    key,
    Buffer.of(answer, options, (padding.length << 4) | security, 0, request.command),
    destination,
    padding,
    Buffer.alloc(SUM_LENGTH),
  ]);
  const end = bytes.length - SUM_LENGTH;
  bytes.writeUInt32BE(fnv1a(bytes.subarray(0, end)), end);
  return bytes;
}

/**
 * Decodes a header.
 * @throws {ProtocolError} when it is malformed or requests an unsupported feature.
 */
export function decodeRequest(bytes: Buffer): RequestHeader {
  const end = bytes.length - SUM_LENGTH;
  if (end < DESTINATION_AT) throw new ProtocolError('the header of the VMess request is too short');
  if (bytes[0] !== VMESS_VERSION)
    throw new ProtocolError(`VMess version ${bytes[0]} is not supported`);
  if (bytes.readUInt32BE(end) !== fnv1a(bytes.subarray(0, end))) {
    throw new ProtocolError('the checksum of the VMess request is wrong');
  }
  const options = bytes.readUInt8(OPTIONS_AT);
  if ((options & Option.padding) !== 0 && (options & Option.masking) === 0) {
    throw new ProtocolError('the VMess request asks for padding without masking');
  }
  const securityByte = bytes.readUInt8(SECURITY_AT);
  const security = securityOf(securityByte & 0x0f);
  // The padding precedes the checksum; Xray and v2ray read on after the destination in the same
  // way.
  const padding = securityByte >> 4;
  const body = bytes.subarray(0, end);
  const { request, end: after } = requestOf(body);
  if (after + padding !== end) {
    throw new ProtocolError('the length of the VMess request header does not match its fields');
  }
  return {
    iv: bytes.subarray(IV_AT, KEY_AT),
    key: bytes.subarray(KEY_AT, ANSWER_AT),
    answer: bytes.readUInt8(ANSWER_AT),
    options,
    security,
    request,
  };
}

function securityOf(value: number): Security {
  if (value === Security.aes128Gcm || value === Security.chacha20Poly1305) return value;
  // sing-box clients with `security: auto` choose `none` over TLS; Xray no longer supports it
  // either.
  const name = value === NONE ? 'none (or zero)' : String(value);
  throw new RejectedClientError(
    `VMess security ${name} is not supported; set aes-128-gcm or chacha20-poly1305 in the client`,
  );
}

function requestOf(bytes: Buffer): {
  readonly request: RequestHeader['request'];
  readonly end: number;
} {
  const command = bytes.readUInt8(COMMAND_AT);
  switch (command) {
    case Command.mux:
      return { request: { command }, end: DESTINATION_AT };
    case Command.tcp:
    case Command.udp: {
      const field = decodeAddressField(bytes, DESTINATION_AT, V2RAY_ADDRESS);
      if (!field?.endpoint) {
        throw new ProtocolError('the destination of the VMess request is invalid');
      }
      return { request: { command, destination: field.endpoint }, end: field.end };
    }
    default:
      throw new ProtocolError(`VMess command ${command} is not supported`);
  }
}

/** Computes 32-bit FNV-1a (RFC 9923). */
export function fnv1a(bytes: Uint8Array): number {
  let hash = 0x811c9dc5;
  for (const byte of bytes) hash = Math.imul(hash ^ byte, 0x01000193);
  return hash >>> 0;
}
