import { shownHost } from '../net/addresses/shown-address.ts';
import { codeOf, messageOf } from '../errors.ts';
import type { Logger } from '../log/logger.ts';
import { DialError } from '../net/errors.ts';
import type { DnsAnswer, DnsBackend } from './backend.ts';
import { followAliases, type Resolution } from './follow-aliases.ts';
import type { DnsExchange } from './exchanges/exchange.ts';
import {
  RCODE_NOERROR,
  RCODE_NXDOMAIN,
  type Question,
  type RawQuestion,
  type DnsReply,
} from './message.ts';
import { normalizeDomain } from '../net/addresses/host-name.ts';
import type { AddressRecordType } from './policy.ts';

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
