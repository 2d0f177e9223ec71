import { encodeName } from './names.ts';
import type { AddressRecordType } from './policy.ts';
import { readRecords, type AnswerRecord, type Authority } from './records.ts';

/** A question for the addresses of one family, by canonical name. */
export interface Question {
  readonly name: string;
  readonly type: AddressRecordType;
}

/**
 * A question of any type, as a client wrote it: its name, type and class in the form of the wire
 * (RFC 1035 §4.1.2), the name uncompressed.
 */
export interface RawQuestion {
  readonly bytes: Uint8Array;
}

/** A server's message: the parts that are used. */
export interface DnsReply {
  /** The whole message, as received. */
  readonly message: Buffer;
  /** The response code, extended by EDNS (RFC 6891 §6.1.3). */
  readonly rcode: number;
  /** Whether the message was truncated to fit its datagram; `records` is then empty. */
  readonly truncated: boolean;
  readonly records: readonly AnswerRecord[];
  readonly authority: Authority | undefined;
}

export const RCODE_NOERROR = 0;
export const RCODE_FORMERR = 1;
export const RCODE_SERVFAIL = 2;
export const RCODE_NXDOMAIN = 3;
export const RCODE_NOTIMP = 4;
export const RCODE_REFUSED = 5;

/** The largest datagram accepted, in bytes: it passes common links unfragmented (DNS flag day 2020). */
export const UDP_PAYLOAD_SIZE = 1232;
/** The largest message in bytes (RFC 1035 §4.2.2: its length has two bytes). */
export const MAX_MESSAGE_SIZE = 65_535;
export const HEADER_SIZE = 12;
/** Bytes of an OPT record without options. */
export const OPT_SIZE = 11;
export const TYPE_OPT = 41;
const OPTION_PADDING = 12;
const LONGEST_LABEL = 63;
const LONGEST_NAME = 255;
const OPTION_HEADER = 4;
const FLAG_RECURSION_DESIRED = 0x0100;
/** The mask of QR and the opcode; a response to a query has QR set, and the opcode 0 of its query. */
const RESPONSE_MASK = 0xf800;
const RESPONSE_TO_QUERY = 0x8000;
const FLAG_TRUNCATED = 0x0200;
/** Queries over TLS are padded to a multiple of this many bytes, to hide the length of the name. */
const PADDING_BLOCK = 128;
/** Types whose records are read, by their numbers; messages of other types are only forwarded. */
const ADDRESS_TYPES: Readonly<Record<AddressRecordType, number>> = { A: 1, AAAA: 28 };
const CLASS_IN = 1;
/** Codes of a server that could not read the query, whose response need not repeat the question (RFC 1035 §4.1.1). */
const UNREAD_CODES: ReadonlySet<number> = new Set([
  RCODE_FORMERR,
  RCODE_SERVFAIL,
  RCODE_NOTIMP,
  RCODE_REFUSED,
]);

export interface QueryOptions {
  readonly id: number;
  /** Whether to use EDNS (RFC 6891); false for a server without support. */
  readonly edns?: boolean;
  /** Whether to pad (RFC 8467 §4.1): for encrypted carriers. */
  readonly padded?: boolean;
}

/** Encodes a query with recursion desired. */
export function encodeQuery(
  question: Question | RawQuestion,
  { id, edns = true, padded = false }: QueryOptions,
): Buffer {
  const asked = 'bytes' in question ? question.bytes : questionBytes(question);
  const bare = HEADER_SIZE + asked.length;
  const message = Buffer.alloc(bare + (edns ? paddedOptSize(bare, padded) : 0));
  message.writeUInt16BE(id, 0);
  message.writeUInt16BE(FLAG_RECURSION_DESIRED, 2);
  message.writeUInt16BE(1, 4);
  message.set(asked, HEADER_SIZE);
  if (edns) {
    message.writeUInt16BE(1, 10);
    putOpt(message, bare, UDP_PAYLOAD_SIZE, message.length - bare - OPT_SIZE);
  }
  return message;
}

function questionBytes({ name, type }: Question): Buffer {
  const fields = Buffer.alloc(4);
  fields.writeUInt16BE(ADDRESS_TYPES[type], 0);
  fields.writeUInt16BE(CLASS_IN, 2);
  return Buffer.concat([encodeName(name), fields]);
}

/** Returns the size in bytes of the OPT record that ends a query, its padding included (RFC 7830). */
function paddedOptSize(bare: number, padded: boolean): number {
  if (!padded) return OPT_SIZE;
  const least = bare + OPT_SIZE + OPTION_HEADER;
  return Math.ceil(least / PADDING_BLOCK) * PADDING_BLOCK - bare;
}

/**
 * Writes an OPT record (RFC 6891 §6.1.2) with nothing but zeros after its fixed part.
 *
 * @param padding bytes that follow the fixed part: a padding option when there are any.
 */
export function putOpt(message: Buffer, at: number, payloadSize: number, padding = 0): void {
  message[at] = 0;
  message.writeUInt16BE(TYPE_OPT, at + 1);
  message.writeUInt16BE(payloadSize, at + 3);
  message.fill(0, at + 5, at + 9);
  message.writeUInt16BE(padding, at + 9);
  if (padding < OPTION_HEADER) return;
  message.writeUInt16BE(OPTION_PADDING, at + OPT_SIZE);
  message.writeUInt16BE(padding - OPTION_HEADER, at + OPT_SIZE + 2);
}

/** Returns the id of a message; `undefined` when it is too short to have one. */
export function messageId(message: Uint8Array): number | undefined {
  const [high, low] = message;
  return high === undefined || low === undefined ? undefined : (high << 8) | low;
}

/**
 * Reads a message as the reply to `query`, the message that was sent.
 *
 * Returns `undefined` when it is not the reply: not a response, another opcode or id, or another question (RFC 5452
 * §9.1).
 *
 * @throws {ProtocolError} when it is the reply but malformed.
 */
export function readReply(message: Uint8Array, query: Buffer): DnsReply | undefined {
  const bytes = Buffer.from(message.buffer, message.byteOffset, message.byteLength);
  if (!answers(bytes, query)) return undefined;
  const flags = bytes.readUInt16BE(2);
  const rcode = flags & 0xf;
  // A truncated message may end within a record, and one with an error has no needed records.
  const truncated = (flags & FLAG_TRUNCATED) !== 0;
  if (truncated || (rcode !== RCODE_NOERROR && rcode !== RCODE_NXDOMAIN)) {
    return { message: bytes, rcode, truncated, records: [], authority: undefined };
  }
  const end = questionEnd(query, HEADER_SIZE) ?? query.length;
  const asked = query.readUInt16BE(end - 4);
  const isRead = asked === ADDRESS_TYPES.A || asked === ADDRESS_TYPES.AAAA;
  const { extendedRcode, ...records } = readRecords(bytes, end, isRead);
  return { message: bytes, rcode: (extendedRcode << 4) | rcode, truncated: false, ...records };
}

/**
 * Whether the OPT record of a query may have caused a server's failure, so that the query is repeated without it (RFC
 * 6891 §7).
 */
export const rejectsEdns = ({ rcode }: DnsReply): boolean =>
  rcode === RCODE_FORMERR || rcode === RCODE_NOTIMP;

/**
 * Whether `message` has the id and the question of `query`, or reports an error without a question. A question is
 * never compressed, so its bytes are compared, without regard to the case of its name.
 */
function answers(message: Buffer, query: Buffer): boolean {
  if (message.length < HEADER_SIZE) return false;
  if (message.readUInt16BE(0) !== query.readUInt16BE(0)) return false;
  if ((message.readUInt16BE(2) & RESPONSE_MASK) !== RESPONSE_TO_QUERY) return false;
  const questions = message.readUInt16BE(4);
  if (questions === 0) return UNREAD_CODES.has(message.readUInt16BE(2) & 0xf);
  if (questions !== 1) return false;
  const end = questionEnd(query, HEADER_SIZE);
  if (end === undefined || message.length < end) return false;
  const question = (of: Buffer): string => of.toString('latin1', HEADER_SIZE, end).toLowerCase();
  return question(message) === question(query);
}

/**
 * Returns the end of a question that begins at `at`, with its type and class; `undefined` when its name is
 * truncated, compressed or longer than 255 bytes (RFC 1035 §3.1).
 */
export function questionEnd(message: Uint8Array, at: number): number | undefined {
  let next = at;
  for (;;) {
    const length = message[next];
    if (length === undefined || length > LONGEST_LABEL) return undefined;
    next += 1 + length;
    if (next - at > LONGEST_NAME) return undefined;
    if (length === 0) return next + 4 <= message.length ? next + 4 : undefined;
  }
}
