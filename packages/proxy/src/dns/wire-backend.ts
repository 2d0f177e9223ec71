import { shownHost, normalizeDomain } from '@weir/io/addresses';
import { codeOf, messageOf } from '@weir/base';
import type { Logger } from '@weir/base/log';
import { DialError, ProtocolError } from '@weir/io';
import type { DnsAnswer, DnsBackend } from './backend.ts';
import type { DnsExchange } from './exchanges/exchange.ts';
import {
  RCODE_NOERROR,
  RCODE_NXDOMAIN,
  type Question,
  type RawQuestion,
  type DnsReply,
} from './message.ts';
import type { AddressRecordType } from './policy.ts';
import type { AnswerRecord } from './records.ts';

/** Questions per name: the first, and those for the targets of its aliases. */
const MAX_QUESTIONS = 8;

/** Names of response codes (IANA, DNS RCODEs). */
const RCODES: Readonly<Record<number, string>> = {
  1: 'FORMERR',
  2: 'SERVFAIL',
  4: 'NOTIMP',
  5: 'REFUSED',
  9: 'NOTAUTH',
  16: 'BADVERS',
};

/** A backend that asks one DNS server, and, when a reply leaves an alias unresolved, also for its target. */
export class WireBackend implements DnsBackend {
  readonly #exchange: DnsExchange;
  readonly #log: Logger;
  #failing = false;

  constructor(exchange: DnsExchange, log: Logger) {
    this.#exchange = exchange;
    this.#log = log;
  }

  async query(name: string, type: AddressRecordType, signal: AbortSignal): Promise<DnsAnswer> {
    const asked = new Set<string>();
    const aliases: string[] = [];
    let ttl = Number.POSITIVE_INFINITY;
    let next: string | undefined = name;
    while (next !== undefined) {
      if (asked.has(next)) throw this.#upstream(`the aliases of ${shownHost(name)} form a loop`);
      if (asked.size >= MAX_QUESTIONS)
        throw this.#upstream(`${shownHost(name)} has too many aliases`);
      asked.add(next);
      const resolution = await this.#ask({ name: next, type }, signal);
      ttl = Math.min(ttl, resolution.ttl);
      aliases.push(...resolution.aliases);
      const way = aliases.length > 0 ? { aliases } : {};
      if (resolution.kind === 'addresses') return { addresses: resolution.addresses, ttl, ...way };
      if (resolution.kind === 'none')
        return { addresses: [], ttl, absent: resolution.absent, ...way };
      // The target of an alias need not be a host name; there is no address then.
      next = normalizeDomain(resolution.name);
    }
    return { addresses: [], ttl, aliases };
  }

  async forward(question: RawQuestion, signal: AbortSignal): Promise<Buffer> {
    return (await this.#reply(question, signal)).message;
  }

  close(): void {
    this.#exchange.close();
  }

  async #ask(question: Question, signal: AbortSignal): Promise<Resolution> {
    const { rcode, ...reply } = await this.#reply(question, signal);
    if (rcode !== RCODE_NOERROR && rcode !== RCODE_NXDOMAIN) {
      throw this.#upstream(`responded with ${RCODES[rcode] ?? `code ${rcode}`}`);
    }
    // The exchange has already used TCP, so that the rest is unavailable.
    if (reply.truncated)
      throw this.#upstream(`the answer for ${shownHost(question.name)} is truncated`);
    try {
      return followAliases({ rcode, ...reply }, question);
    } catch (error) {
      throw this.#upstream(messageOf(error), error);
    }
  }

  /** Asks the server; logs when it stops responding and when it responds again. */
  async #reply(question: Question | RawQuestion, signal: AbortSignal): Promise<DnsReply> {
    try {
      const reply = await this.#exchange.ask(question, signal);
      if (this.#failing) this.#log.info(`DNS server ${this.#exchange.server} responds again`);
      this.#failing = false;
      return reply;
    } catch (error) {
      if (!this.#failing && codeOf(error) !== 'aborted') {
        this.#failing = true;
        this.#log.warn(messageOf(error));
      }
      throw error;
    }
  }

  #upstream(text: string, cause?: unknown): DialError {
    return new DialError('upstream', `DNS server ${this.#exchange.server}: ${text}`, { cause });
  }
}

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
