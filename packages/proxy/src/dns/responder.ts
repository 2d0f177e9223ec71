import { ipVersion, parseIP, normalizeHost } from '@weir/io/addresses';
import { DialError } from '@weir/io';
import type { DnsService } from './backend.ts';
import {
  HEADER_SIZE,
  MAX_MESSAGE_SIZE,
  RCODE_NOTIMP,
  RCODE_NXDOMAIN,
  RCODE_REFUSED,
  RCODE_SERVFAIL,
  RCODE_NOERROR,
  questionEnd,
} from './message.ts';
import type { AddressRecordType } from './policy.ts';
import {
  addressResponse,
  datagramLimit,
  emptyResponse,
  hostNameOf,
  passedOnResponse,
  readQuery,
  sizeOfAddresses,
  truncatedResponse,
  type ClientQuery,
} from './query.ts';

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
export interface Asker {
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
