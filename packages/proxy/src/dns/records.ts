import { formatIP } from '@weir/io/addresses';
import { ProtocolError } from '@weir/io';
import { nameEnd, NameReader } from './names.ts';
import type { AddressRecordType } from './policy.ts';

/** A record of the answer section; records of other types are omitted. */
export interface AnswerRecord {
  /** The owner as text, see `NameReader`. */
  readonly owner: string;
  readonly type: AddressRecordType | 'CNAME';
  /** The data: an IP address in canonical text, or the target of an alias in the form of `owner`. */
  readonly data: string;
  /** The TTL in seconds. */
  readonly ttl: number;
}

/** The SOA record of a reply, whose TTL is that of an absence (RFC 2308 §5). */
export interface Authority {
  readonly zone: string;
  readonly ttl: number;
}

/** The used parts of the records of a message. */
export interface RecordsOfMessage {
  readonly records: readonly AnswerRecord[];
  readonly authority: Authority | undefined;
  /** The upper bits of the response code (RFC 6891 §6.1.3). */
  readonly extendedRcode: number;
}

/** Types (IANA, DNS parameters) whose data are read; those of others are opaque (RFC 3597 §3). */
const TYPE_A = 1;
const TYPE_CNAME = 5;
const TYPE_SOA = 6;
const TYPE_AAAA = 28;
const TYPE_OPT = 41;
const CLASS_IN = 1;

/** Bytes of a record between its name and its data: type, class, TTL and the length of the data. */
const FIELDS = 10;
/** Bytes after the names of a SOA record, the last four of them the TTL of an absence (RFC 1035 §3.3.13). */
const SOA_NUMBERS = 20;
/** The largest TTL: one with the top bit set counts as 0 (RFC 2181 §8). */
const MAX_TTL = 0x7fff_ffff;

/** The offsets of a record within a message. */
interface Place {
  /** Offset of the record's owner. */
  readonly start: number;
  /** Offset of the record's fields. */
  readonly fields: number;
  readonly data: number;
  readonly end: number;
}

/**
 * Reads the records of a message in one pass. A message has room for some 4,000 addresses.
 *
 * @param start the end of the question.
 * @param isRead whether records and authority are read; otherwise the message is only forwarded, and data of records
 * are not examined.
 * @throws {ProtocolError} when a record is truncated, or is read and malformed.
 */
export function readRecords(message: Buffer, start: number, isRead: boolean): RecordsOfMessage {
  const names = new NameReader(message);
  const records: AnswerRecord[] = [];
  let authority: Authority | undefined;
  let extendedRcode = 0;
  let at = start;
  for (let left = message.readUInt16BE(6); left > 0; left--) {
    const place = placeAt(message, at);
    at = place.end;
    const record = isRead ? answerRecord(message, names, place) : undefined;
    if (record) records.push(record);
  }
  for (let left = message.readUInt16BE(8); left > 0; left--) {
    const place = placeAt(message, at);
    at = place.end;
    if (isRead) authority ??= authorityOf(message, names, place);
  }
  for (let left = message.readUInt16BE(10); left > 0; left--) {
    const { fields, end } = placeAt(message, at);
    at = end;
    if (message.readUInt16BE(fields) === TYPE_OPT) extendedRcode = message[fields + 4] ?? 0;
  }
  return { records, authority, extendedRcode };
}

function placeAt(message: Buffer, start: number): Place {
  const fields = nameEnd(message, start);
  const data = fields + FIELDS;
  const end = data > message.length ? data : data + message.readUInt16BE(data - 2);
  if (end > message.length) throw new ProtocolError('the DNS answer is truncated');
  return { start, fields, data, end };
}

function answerRecord(message: Buffer, names: NameReader, place: Place): AnswerRecord | undefined {
  const { start, fields, data, end } = place;
  if (message.readUInt16BE(fields + 2) !== CLASS_IN) return undefined;
  const type = message.readUInt16BE(fields);
  const ttl = lifetime(message, fields + 4);
  switch (type) {
    case TYPE_A:
    case TYPE_AAAA: {
      if (end - data !== (type === TYPE_A ? 4 : 16)) {
        throw new ProtocolError(`the DNS answer has an address of ${end - data} bytes`);
      }
      const address = formatIP(message.subarray(data, end));
      return { owner: names.at(start), type: type === TYPE_A ? 'A' : 'AAAA', data: address, ttl };
    }
    case TYPE_CNAME:
      if (nameEnd(message, data) !== end) throw malformed('a CNAME record');
      return { owner: names.at(start), type: 'CNAME', data: names.at(data), ttl };
    default:
      return undefined;
  }
}

function authorityOf(message: Buffer, names: NameReader, place: Place): Authority | undefined {
  const { start, fields, data, end } = place;
  const isSoa = message.readUInt16BE(fields) === TYPE_SOA;
  if (!isSoa || message.readUInt16BE(fields + 2) !== CLASS_IN) return undefined;
  if (nameEnd(message, nameEnd(message, data)) + SOA_NUMBERS !== end)
    throw malformed('a SOA record');
  const ttl = Math.min(lifetime(message, fields + 4), lifetime(message, end - 4));
  return { zone: names.at(start), ttl };
}

const malformed = (what: string): ProtocolError =>
  new ProtocolError(`the DNS answer is malformed: ${what}`);

function lifetime(message: Buffer, at: number): number {
  const ttl = message.readUInt32BE(at);
  return ttl > MAX_TTL ? 0 : ttl;
}
