import type { RandomSource } from '@weir/base/random';
import { type Endpoint, decodeName } from '@weir/io/addresses';
import type { BoundedReader } from '@weir/io/links';
import { ProtocolError } from '@weir/io';
import { readVarint, varintSize, varintSizeAt, writeVarint } from '@weir/quic/varint';
import { ADDRESS_LIMIT, MESSAGE_LIMIT, PADDING_LIMIT } from './limits.ts';

/** A range of lengths from `min` to `limit` - 1, uniformly distributed. */
export interface PaddingRange {
  readonly min: number;
  readonly limit: number;
}

/**
 * The ranges of the reference (core/internal/protocol/padding.go), so that lengths do not differ
 * from it.
 */
export const PADDING_RANGES = {
  authentication: { min: 256, limit: 2048 },
  tcpRequest: { min: 64, limit: 512 },
  tcpResponse: { min: 128, limit: 1024 },
} as const satisfies Record<string, PaddingRange>;

const CHARACTERS = Buffer.from('abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789');

/** Creates padding of letters and digits, as the reference implementation does. */
export function padding({ min, limit }: PaddingRange, random: RandomSource): Buffer {
  const bytes = random.bytes(min + random.below(limit - min));
  for (let at = 0; at < bytes.length; at++) {
    bytes[at] = CHARACTERS[(bytes[at] as number) % CHARACTERS.length] as number; // in range
  }
  return bytes;
}

/** The frame type that begins a stream with a TCP request, in place of HTTP/3's. */
export const TCP_REQUEST = 0x401;

/** The status of a response: anything but 0 is a failure. */
const STATUS_OK = 0;
const STATUS_ERROR = 1;

/** A response to a TCP request. */
export interface TcpResponse {
  readonly ok: boolean;
  /** The reason of a failure, for users. */
  readonly message: string;
}

/** A UDP message or a fragment of one. */
export interface UdpMessage {
  /** The session id, 32 bits, chosen by the client, one for each association. */
  readonly sessionId: number;
  /** Identifies the fragments of one message; 16 bits. */
  readonly packetId: number;
  readonly fragmentId: number;
  /** Number of fragments; 0 and 1 both mean a whole message. */
  readonly fragmentCount: number;
  /** The address as `host:port`. */
  readonly address: string;
  readonly data: Uint8Array;
}

/**
 * Parses `host:port`, with brackets around IPv6. `undefined` for invalid text; names are checked as in all protocols.
 */
export function parseHostPort(address: string): Endpoint | undefined {
  const [, bracketed, plain, digits] =
    /^(?:\[([^[\]]+)\]|([^:[\]]+)):([0-9]{1,5})$/.exec(address) ?? [];
  const text = bracketed ?? plain;
  const port = Number(digits);
  // U+FFFD replaces bytes that were not UTF-8.
  if (text === undefined || port > 0xffff || text.includes('\ufffd')) return undefined;
  const host = decodeName(Buffer.from(text));
  return host === undefined ? undefined : { host, port };
}

/** Encodes a TCP request: frame type, address (`host:port`), and padding as long as the reference's. */
export function encodeTcpRequest(address: string, random: RandomSource): Uint8Array {
  const text = Buffer.from(address);
  const pad = padding(PADDING_RANGES.tcpRequest, random);
  const out = new Uint8Array(
    varintSize(TCP_REQUEST) + sizeOfText(text.length) + sizeOfText(pad.length),
  );
  writeText(out, writeText(out, writeVarint(out, 0, TCP_REQUEST), text), pad);
  return out;
}

/**
 * Reads a TCP request after its frame type, and returns its address. The reader needs READER_LIMIT.
 * @throws {ProtocolError} for an address or padding beyond the limits.
 */
export async function readTcpRequest(reader: BoundedReader): Promise<string> {
  const length = await readLength(reader, ADDRESS_LIMIT, 'the address');
  if (length === 0) throw new ProtocolError('the address is empty');
  const address = (await reader.bytes(length)).toString('utf8');
  await dropPadding(reader);
  return address;
}

/** Encodes a TCP response: status, message, and padding as long as the reference's. */
export function encodeTcpResponse({ ok, message }: TcpResponse, random: RandomSource): Uint8Array {
  const text = Buffer.from(message).subarray(0, MESSAGE_LIMIT);
  const pad = padding(PADDING_RANGES.tcpResponse, random);
  const out = new Uint8Array(1 + sizeOfText(text.length) + sizeOfText(pad.length));
  out[0] = ok ? STATUS_OK : STATUS_ERROR;
  writeText(out, writeText(out, 1, text), pad);
  return out;
}

/**
 * Reads a TCP response. The reader needs READER_LIMIT.
 * @throws {ProtocolError} for a message or padding beyond the limits.
 */
export async function readTcpResponse(reader: BoundedReader): Promise<TcpResponse> {
  const ok = (await reader.byte()) === STATUS_OK;
  const length = await readLength(reader, MESSAGE_LIMIT, 'the message');
  const message = (await reader.bytes(length)).toString('utf8');
  await dropPadding(reader);
  return { ok, message };
}

/** Bytes of the session id, packet id, fragment id and fragment count. */
const UDP_FIXED = 8;

/** Returns the length of the header of a UDP message with an address of `addressBytes`. */
export const udpHeaderSize = (addressBytes: number): number => UDP_FIXED + sizeOfText(addressBytes);

/** Encodes a UDP message, whole or a fragment. `address` is given as bytes, so that the caller encodes it only once. */
export function encodeUdpMessage(
  message: Omit<UdpMessage, 'address'> & { readonly address: Uint8Array },
): Uint8Array {
  const { sessionId, packetId, address, data } = message;
  // Pooled: a separate allocation would cost more than all else here.
  const out = Buffer.allocUnsafe(udpHeaderSize(address.length) + data.length);
  out[0] = sessionId >>> 24;
  out[1] = sessionId >>> 16;
  out[2] = sessionId >>> 8;
  out[3] = sessionId;
  out[4] = packetId >>> 8;
  out[5] = packetId;
  out[6] = message.fragmentId;
  out[7] = message.fragmentCount;
  out.set(data, writeText(out, UDP_FIXED, address));
  return out;
}

/**
 * Caches the address of the last message: most messages have the same one, which then needs no
 * decoding.
 */
export class LastAddress {
  #bytes = Buffer.alloc(0);
  #text = '';

  /** Returns the text of the bytes from `start` to `end`. */
  textOf(bytes: Uint8Array, start: number, end: number): string {
    const known = this.#bytes;
    let at = end - start === known.length ? 0 : -1;
    while (at >= 0 && at < known.length) at = known[at] === bytes[start + at] ? at + 1 : -1;
    if (at >= 0) return this.#text;
    this.#bytes = Buffer.from(bytes.subarray(start, end)); // a copy
    this.#text = this.#bytes.toString('utf8');
    return this.#text;
  }
}

/**
 * Reads a UDP message; its data is a view of `bytes`. `undefined` for a malformed one, which is
 * dropped; an empty address or empty data is malformed, as in the reference.
 */
export function decodeUdpMessage(
  bytes: Uint8Array,
  last: LastAddress = new LastAddress(),
): UdpMessage | undefined {
  const length = readVarint(bytes, UDP_FIXED, bytes.length);
  // Also refuses a truncated length, which is negative.
  if (!(length > 0 && length <= ADDRESS_LIMIT)) return undefined;
  const start = UDP_FIXED + varintSizeAt(bytes, UDP_FIXED);
  const end = start + length;
  if (end >= bytes.length) return undefined;
  const at = (index: number): number => bytes[index] as number; // below UDP_FIXED, and there are more bytes
  return {
    sessionId: ((at(0) << 24) | (at(1) << 16) | (at(2) << 8) | at(3)) >>> 0,
    packetId: (at(4) << 8) | at(5),
    fragmentId: at(6),
    fragmentCount: at(7),
    address: last.textOf(bytes, start, end),
    data: bytes.subarray(end),
  };
}

/** Returns the size in bytes of a text of `length` bytes with its length field. */
const sizeOfText = (length: number): number => varintSize(length) + length;

function writeText(out: Uint8Array, offset: number, text: Uint8Array): number {
  const at = writeVarint(out, offset, text.length);
  out.set(text, at);
  return at + text.length;
}

async function readLength(reader: BoundedReader, limit: number, what: string): Promise<number> {
  const bytes = await reader.bytes(varintSizeAt(await reader.peek(1), 0));
  const length = readVarint(bytes, 0, bytes.length);
  if (length > limit) throw new ProtocolError(`${what} is longer than ${limit} bytes`);
  return length;
}

async function dropPadding(reader: BoundedReader): Promise<void> {
  await reader.bytes(await readLength(reader, PADDING_LIMIT, 'the padding'));
}
