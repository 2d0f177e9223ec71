import { ProtocolError } from '../net/errors.ts';
import { RCODE_NXDOMAIN, type AnswerRecord, type Question, type Reply } from './message.ts';

/** What a reply says about its question. TTLs are seconds, the shortest of all records used. */
export type Conclusion =
  | { readonly kind: 'addresses'; readonly addresses: readonly string[]; readonly ttl: number }
  /** The name has no such address; `absent`: it does not exist at all. */
  | { readonly kind: 'none'; readonly absent: boolean; readonly ttl: number }
  /** The name is an alias for another one, about which nothing is said. */
  | { readonly kind: 'alias'; readonly name: string; readonly ttl: number };

/**
 * How long an absence holds of which the server does not tell, in seconds. RFC 2308 §5 would not keep
 * it at all; but then a name without IPv6 addresses would cost a question for each connection.
 */
const UNSTATED_TTL = 5;

/** Aliases that are followed within one reply. */
const MAX_ALIASES = 16;

/**
 * Follows the aliases (CNAME) inside a reply from the name that was asked to its addresses.
 *
 * Only records that the chain passes through count; what a server adds about other names is never
 * used. `reply` must be one of success or of a name that does not exist.
 *
 * @throws {ProtocolError} when the aliases lead in a circle or are too many.
 */
export function concludeReply(reply: Reply, question: Question): Conclusion {
  const { records, authority, rcode } = reply;
  const passed = new Set<string>();
  let name = question.name;
  let ttl = Number.POSITIVE_INFINITY;
  for (;;) {
    const found = records.filter((each) => each.type === question.type && each.owner === name);
    if (found.length > 0) {
      const addresses = [...new Set(found.map((each) => each.data))];
      return { kind: 'addresses', addresses, ttl: Math.min(ttl, ...found.map((each) => each.ttl)) };
    }
    const alias = aliasOf(records, name);
    if (!alias) break;
    passed.add(name);
    if (passed.has(alias.data)) {
      throw new ProtocolError(`the aliases of ${question.name} lead in a circle`);
    }
    if (passed.size > MAX_ALIASES) {
      throw new ProtocolError(`${question.name} has more than ${MAX_ALIASES} aliases in a row`);
    }
    name = alias.data;
    ttl = Math.min(ttl, alias.ttl);
  }
  // The code and the authority are about the end of the chain (RFC 2308 §2.1, RFC 6604 §3).
  const spoken = authority && isWithin(name, authority.zone) ? authority : undefined;
  if (rcode === RCODE_NXDOMAIN || spoken || passed.size === 0) {
    const holds = spoken ? spoken.ttl : UNSTATED_TTL;
    return { kind: 'none', absent: rcode === RCODE_NXDOMAIN, ttl: Math.min(ttl, holds) };
  }
  return { kind: 'alias', name, ttl };
}

const aliasOf = (records: readonly AnswerRecord[], name: string): AnswerRecord | undefined =>
  records.find((each) => each.type === 'CNAME' && each.owner === name);

const isWithin = (name: string, zone: string): boolean =>
  zone === '' || name === zone || name.endsWith(`.${zone}`);
