import { shownHost } from '../net/addresses/shown-address.ts';
import { ProtocolError } from '../net/errors.ts';
import { RCODE_NXDOMAIN, type Question, type DnsReply } from './message.ts';
import type { AnswerRecord } from './records.ts';

/** The result of a reply for a name. TTLs are in seconds, the shortest of all records used. */
export type Resolution = (
  | { readonly kind: 'addresses'; readonly addresses: readonly string[] }
  /** The name has no address of the family; `absent`: the name does not exist. */
  | { readonly kind: 'none'; readonly absent: boolean }
  /** The name is an alias of one for which the reply has no records. */
  | { readonly kind: 'alias'; readonly name: string }
) & {
  readonly ttl: number;
  /** The targets of the aliases followed, in order. */
  readonly aliases: readonly string[];
};

/**
 * TTL of an absence without an SOA record, in seconds. RFC 2308 §5 would not cache the absence at all, but then a name
 * without IPv6 addresses would cost a question for each connection.
 */
const UNSTATED_TTL = 5;

/** Aliases that are followed within one reply. */
const MAX_ALIASES = 16;

/**
 * Follows the aliases (CNAME) in a reply from the name in question to its addresses.
 *
 * Only records on that chain count; records of other names are never used. The code of `reply` must
 * be NOERROR or NXDOMAIN.
 *
 * @throws {ProtocolError} when the aliases form a loop or are too many.
 */
export function followAliases(reply: DnsReply, question: Question): Resolution {
  const { records, authority, rcode } = reply;
  const passed = new Set<string>();
  let name = question.name;
  const aliases: string[] = [];
  let ttl = Number.POSITIVE_INFINITY;
  for (;;) {
    const found = records.filter((each) => each.type === question.type && each.owner === name);
    if (found.length > 0) {
      const addresses = [...new Set(found.map((each) => each.data))];
      for (const each of found) ttl = Math.min(ttl, each.ttl);
      return { kind: 'addresses', addresses, ttl, aliases };
    }
    const alias = aliasOf(records, name);
    if (!alias) break;
    passed.add(name);
    if (passed.has(alias.data)) {
      throw new ProtocolError(`the aliases of ${shownHost(question.name)} form a loop`);
    }
    if (passed.size > MAX_ALIASES) {
      throw new ProtocolError(
        `${shownHost(question.name)} has more than ${MAX_ALIASES} aliases in a row`,
      );
    }
    name = alias.data;
    aliases.push(name);
    ttl = Math.min(ttl, alias.ttl);
  }
  // The code and the authority concern the end of the chain (RFC 2308 §2.1, RFC 6604 §3).
  const soa = authority && isWithin(name, authority.zone) ? authority : undefined;
  if (rcode === RCODE_NXDOMAIN || soa || passed.size === 0) {
    const absence = soa ? soa.ttl : UNSTATED_TTL;
    return { kind: 'none', absent: rcode === RCODE_NXDOMAIN, ttl: Math.min(ttl, absence), aliases };
  }
  return { kind: 'alias', name, ttl, aliases };
}

const aliasOf = (records: readonly AnswerRecord[], name: string): AnswerRecord | undefined =>
  records.find((each) => each.type === 'CNAME' && each.owner === name);

const isWithin = (name: string, zone: string): boolean =>
  zone === '' || name === zone || name.endsWith(`.${zone}`);
