import { ipVersion, normalizeHost, parseIP } from '@weir/io/addresses';
import { DialError } from '@weir/io';
import {
  HEADER_SIZE,
  MAX_MESSAGE_SIZE,
  OPT_SIZE,
  putOpt,
  questionEnd,
  RCODE_FORMERR,
  RCODE_NOERROR,
  RCODE_NOTIMP,
  RCODE_NXDOMAIN,
  RCODE_REFUSED,
  RCODE_SERVFAIL,
  TYPE_OPT,
  UDP_PAYLOAD_SIZE,
} from './message.ts';
import { encodeName } from './names.ts';
import type { AddressRecordType } from './policy.ts';
import type { DnsService } from './backend.ts';

/*
 * The server's side of DNS messages (RFC 1035 §4.1): reads a client's query and writes responses to it.
 */

/** The largest response in bytes over UDP to a client without EDNS (RFC 1035 §2.3.4). */
const CLASSIC_PAYLOAD_SIZE = 512;

const FLAG_RESPONSE = 0x8000;
const FLAG_TRUNCATED = 0x0200;
const FLAG_RECURSION_DESIRED = 0x0100;
const FLAG_RECURSION_AVAILABLE = 0x0080;
const OPCODE_MASK = 0x7800;

/** The largest offset that a pointer can express. */
const LAST_POINTED = 0x3fff;
const TYPE_CNAME = 5;

/** A query as a client sent it. */
interface ClientQuery {
  readonly id: number;
  /** The flags that a response repeats. */
  readonly flags: number;
  readonly opcode: number;
  /** Name, type and class in wire format; empty for a query that cannot be answered. */
  readonly question: Buffer;
  readonly type: number;
  readonly class: number;
  /** The contents of the query's OPT record; `undefined` without EDNS. */
  readonly edns: { readonly payloadSize: number; readonly version: number } | undefined;
  /** The response code if the query cannot be answered; `undefined` when it can. */
  readonly problem: number | undefined;
}

/** Reads a query; `undefined` when there must be no response: it has no header, or is itself a response. */
export function readQuery(bytes: Uint8Array): ClientQuery | undefined {
  const message = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (message.length < HEADER_SIZE) return undefined;
  const flags = message.readUInt16BE(2);
  if ((flags & FLAG_RESPONSE) !== 0) return undefined;
  const head = {
    id: message.readUInt16BE(0),
    flags: flags & (OPCODE_MASK | FLAG_RECURSION_DESIRED),
    opcode: (flags & OPCODE_MASK) >> 11,
  };
  const end = message.readUInt16BE(4) === 1 ? questionEnd(message, HEADER_SIZE) : undefined;
  const edns = end === undefined ? undefined : readEdns(message, end);
  if (end === undefined || edns === 'malformed') {
    const question = Buffer.alloc(0);
    return { ...head, question, type: 0, class: 0, edns: undefined, problem: RCODE_FORMERR };
  }
  return {
    ...head,
    question: message.subarray(HEADER_SIZE, end),
    type: message.readUInt16BE(end - 4),
    class: message.readUInt16BE(end - 2),
    edns,
    problem: undefined,
  };
}

/** Returns the OPT record, if it is the first additional record, as in the queries of all known programs. */
function readEdns(message: Buffer, at: number): ClientQuery['edns'] | 'malformed' {
  const records = message.readUInt16BE(6) + message.readUInt16BE(8);
  if (records > 0 || message.readUInt16BE(10) === 0) return undefined;
  if (at + OPT_SIZE > message.length) return 'malformed';
  if (message[at] !== 0 || message.readUInt16BE(at + 1) !== TYPE_OPT) return undefined;
  const payloadSize = Math.max(message.readUInt16BE(at + 3), CLASSIC_PAYLOAD_SIZE);
  return { payloadSize, version: message[at + 6] ?? 0 };
}

/** Returns the name of a question as text; `undefined` for one that cannot be a host name. */
export function hostNameOf({ question }: ClientQuery): string | undefined {
  const labels: string[] = [];
  let at = 0;
  for (;;) {
    const length = question[at] ?? 0;
    if (length === 0) break;
    const label = question.toString('latin1', at + 1, at + 1 + length);
    // A dot within a label would be read as its end.
    if (!/^[a-z0-9_-]+$/i.test(label)) return undefined;
    labels.push(label);
    at += 1 + length;
  }
  return labels.length === 0 ? undefined : labels.join('.').toLowerCase();
}

/** Returns the largest response in a datagram, in bytes. */
const datagramLimit = ({ edns }: ClientQuery): number =>
  edns ? Math.min(edns.payloadSize, UDP_PAYLOAD_SIZE) : CLASSIC_PAYLOAD_SIZE;

/** Creates a response without records. @param rcode 12 bits; those above 15 need EDNS. */
function emptyResponse(query: ClientQuery, rcode: number, extra = 0): Buffer {
  return response(query, rcode, 0, Buffer.alloc(0), extra);
}

/** Creates a truncated response: the client has to repeat its query over TCP (RFC 7766 §5). */
const truncatedResponse = (query: ClientQuery, rcode: number): Buffer =>
  emptyResponse(query, rcode, FLAG_TRUNCATED);

/** The records of a response for a name. */
interface AddressRecords {
  /** The targets of the aliases followed, in order (RFC 1034 §4.3.1). */
  readonly aliases: readonly string[];
  /** Addresses of the queried type, of the last alias. */
  readonly addresses: readonly Uint8Array[];
  readonly ttl: number;
}

/** Bytes of a record between the pointer to its name and its data. */
const FIELDS_SIZE = 10;
const POINTER_SIZE = 2;
const ADDRESS_SIZES: Readonly<Record<AddressRecordType, number>> = { A: 4, AAAA: 16 };

/** Returns the minimum size in bytes of the address records of a response. */
const sizeOfAddresses = (type: AddressRecordType, count: number): number =>
  count * (POINTER_SIZE + FIELDS_SIZE + ADDRESS_SIZES[type]);

/** Creates a response with the addresses of a name, and the aliases that lead to them. */
function addressResponse(
  query: ClientQuery,
  { aliases, addresses, ttl }: AddressRecords,
  rcode: number,
): Buffer {
  const records: Uint8Array[] = [];
  let at = HEADER_SIZE + query.question.length;
  let owner = pointerTo(HEADER_SIZE);
  const add = (type: number, data: Uint8Array): void => {
    const fields = Buffer.alloc(FIELDS_SIZE);
    fields.writeUInt16BE(type, 0);
    fields.writeUInt16BE(query.class, 2);
    fields.writeUInt32BE(ttl, 4);
    fields.writeUInt16BE(data.length, 8);
    records.push(owner, fields, data);
    at += owner.length + fields.length + data.length;
  };
  for (const alias of aliases) {
    const name = encodeName(alias);
    add(TYPE_CNAME, name);
    const start = at - name.length;
    owner = start <= LAST_POINTED ? pointerTo(start) : name;
  }
  for (const address of addresses) add(query.type, address);
  return response(query, rcode, aliases.length + addresses.length, Buffer.concat(records), 0);
}

/** Returns a pointer to a name of the same message (RFC 1035 §4.1.4). */
function pointerTo(at: number): Buffer {
  const pointer = Buffer.alloc(POINTER_SIZE);
  pointer.writeUInt16BE(0xc000 | at, 0);
  return pointer;
}

/**
 * Turns a server's message into the response to the client's query, which was forwarded: with the client's id and EDNS.
 * The additional records are omitted; nothing depends on them (RFC 2181 §9).
 *
 * @param message the server's message; its question is that of the query, or it has none.
 * @param additionals the offset of its additional records.
 */
function passedOnResponse(
  query: ClientQuery,
  message: Buffer,
  rcode: number,
  additionals: number,
): Buffer {
  const opt = query.edns ? OPT_SIZE : 0;
  const out = Buffer.alloc(additionals + opt);
  message.copy(out, 0, 0, additionals);
  out.writeUInt16BE(query.id, 0);
  const flags = message.readUInt16BE(2) & ~(OPCODE_MASK | FLAG_RECURSION_DESIRED | 0xf);
  out.writeUInt16BE(flags | query.flags | FLAG_RECURSION_AVAILABLE | (rcode & 0xf), 2);
  out.writeUInt16BE(query.edns ? 1 : 0, 10);
  if (query.edns) putExtended(out, additionals, rcode);
  return out;
}

function response(
  { id, flags, question, edns }: ClientQuery,
  rcode: number,
  count: number,
  records: Buffer,
  extra: number,
): Buffer {
  const end = HEADER_SIZE + question.length + records.length;
  const message = Buffer.alloc(end + (edns ? OPT_SIZE : 0));
  message.writeUInt16BE(id, 0);
  const ours = FLAG_RESPONSE | FLAG_RECURSION_AVAILABLE | extra;
  message.writeUInt16BE(flags | ours | (rcode & 0xf), 2);
  message.writeUInt16BE(question.length > 0 ? 1 : 0, 4);
  message.writeUInt16BE(count, 6);
  message.set(question, HEADER_SIZE);
  message.set(records, HEADER_SIZE + question.length);
  if (edns) {
    message.writeUInt16BE(1, 10);
    putExtended(message, end, rcode);
  }
  return message;
}

/** Writes the OPT record of a response: the upper bits of its code, version 0. */
function putExtended(message: Buffer, at: number, rcode: number): void {
  putOpt(message, at, UDP_PAYLOAD_SIZE);
  message[at + 5] = rcode >> 4;
}

const OPCODE_QUERY = 0;
const CLASS_IN = 1;
const RCODE_BADVERS = 16;
const TYPES: ReadonlyMap<number, AddressRecordType> = new Map([
  [1, 'A'],
  [28, 'AAAA'],
]);
/** Whether a type queries a whole zone, or belongs to a single hop (RFC 6895 §3.1): AXFR, IXFR, TKEY, … */
const isMeta = (type: number): boolean => type === 41 || (type >= 128 && type <= 254);

/** The client of a query. */
interface Asker {
  /** The client's IP address, for its share of the resolver. */
  readonly address: string | undefined;
  /** Whether the response has to fit a datagram. */
  readonly datagram: boolean;
}

/**
 * Answers a client's query by the resolver of the configuration: addresses from its cache, other types by forwarding
 * the question to its server.
 *
 * @returns the response, or `undefined` when there must be none. Never rejects: failures are response codes.
 */
export async function respond(
  query: Uint8Array,
  service: DnsService,
  { address, datagram }: Asker,
  signal: AbortSignal,
): Promise<Buffer | undefined> {
  const asked = readQuery(query);
  if (!asked) return undefined;
  const limit = datagram ? datagramLimit(asked) : MAX_MESSAGE_SIZE;
  const response = await answer(asked, service, { client: address, limit }, signal);
  if (response.length <= limit) return response;
  return truncatedResponse(asked, response.readUInt16BE(2) & 0xf);
}

async function answer(
  query: ClientQuery,
  service: DnsService,
  { client, limit }: { readonly client: string | undefined; readonly limit: number },
  signal: AbortSignal,
): Promise<Buffer> {
  if (query.opcode !== OPCODE_QUERY) return emptyResponse(query, RCODE_NOTIMP);
  if (query.problem !== undefined) return emptyResponse(query, query.problem);
  if (query.edns && query.edns.version > 0) return emptyResponse(query, RCODE_BADVERS);
  if (query.class !== CLASS_IN || isMeta(query.type)) return emptyResponse(query, RCODE_REFUSED);
  try {
    const type = TYPES.get(query.type);
    const name = type && normalizedName(query);
    if (type && name !== undefined) {
      if (ipVersion(name) !== 0) return emptyResponse(query, RCODE_NXDOMAIN);
      const found = await service.lookup(name, type, signal, client);
      const { aliases = [], ttl, absent = false } = found;
      const rcode = absent ? RCODE_NXDOMAIN : RCODE_NOERROR;
      // Thousands take 10 ms to write, for each query in a datagram of some 30 bytes.
      if (sizeOfAddresses(type, found.addresses.length) > limit) {
        return truncatedResponse(query, rcode);
      }
      const records = { aliases, addresses: found.addresses.map(bytesOf), ttl: Math.floor(ttl) };
      return addressResponse(query, records, rcode);
    }
    return passOn(query, await service.forward({ bytes: query.question }, signal, client));
  } catch (error) {
    const unsupported = error instanceof DialError && error.code === 'unsupported';
    return emptyResponse(query, unsupported ? RCODE_NOTIMP : RCODE_SERVFAIL);
  }
}

/** Returns the name if the resolver accepts it; others, such as service names (`_sip`), are forwarded instead. */
function normalizedName(query: ClientQuery): string | undefined {
  const name = hostNameOf(query);
  return name === undefined ? undefined : normalizeHost(name);
}

function bytesOf(address: string): Uint8Array {
  const bytes = parseIP(address);
  if (!bytes) throw new RangeError(`the resolver returned ${address}`);
  return bytes;
}

function passOn(query: ClientQuery, message: Buffer): Buffer {
  const rcode = message.readUInt16BE(2) & 0xf;
  const additionals = additionalsOf(message);
  // A truncated message may end within a record.
  if (additionals === undefined) return emptyResponse(query, rcode || RCODE_SERVFAIL);
  return passedOnResponse(query, message, rcode === 0 ? RCODE_NOERROR : rcode, additionals);
}

/** Returns the offset of the additional records; `undefined` when the records before are truncated. */
function additionalsOf(message: Buffer): number | undefined {
  const records = message.readUInt16BE(6) + message.readUInt16BE(8);
  let at = questionEnd(message, HEADER_SIZE);
  for (let i = 0; i < records && at !== undefined; i++) at = recordEnd(message, at);
  return at;
}

function recordEnd(message: Buffer, start: number): number | undefined {
  let at = start;
  for (;;) {
    const length = message[at];
    if (length === undefined) return undefined;
    if (length >= 0xc0) {
      at += 2;
      break;
    }
    at += 1 + length;
    if (length === 0) break;
  }
  const data = at + 10;
  if (data > message.length) return undefined;
  const end = data + message.readUInt16BE(data - 2);
  return end <= message.length ? end : undefined;
}
