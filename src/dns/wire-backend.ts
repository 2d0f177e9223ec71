import { codeOf, messageOf } from '../errors.ts';
import type { Logger } from '../log/logger.ts';
import { DialError } from '../net/errors.ts';
import type { DnsAnswer, DnsBackend } from './backend.ts';
import { concludeReply, type Conclusion } from './conclusion.ts';
import type { Exchange } from './exchange.ts';
import { RCODE_NOERROR, RCODE_NXDOMAIN, type Question, type Reply } from './message.ts';
import { canonicalName } from './names.ts';
import type { AddressType } from './policy.ts';

/** Questions that one name may cost: the first, and those for the names that it is an alias of. */
const MAX_QUESTIONS = 8;

/** Names of the codes that servers answer with (IANA, DNS RCODEs). */
const RCODES: Readonly<Record<number, string>> = {
  1: 'FORMERR',
  2: 'SERVFAIL',
  4: 'NOTIMP',
  5: 'REFUSED',
  9: 'NOTAUTH',
  16: 'BADVERS',
};

/** Asks one DNS server, and on for the name behind an alias that its answer leaves open. */
export class WireBackend implements DnsBackend {
  readonly #exchange: Exchange;
  readonly #log: Logger;
  #failing = false;

  constructor(exchange: Exchange, log: Logger) {
    this.#exchange = exchange;
    this.#log = log;
  }

  async query(name: string, type: AddressType, signal: AbortSignal): Promise<DnsAnswer> {
    const asked = new Set<string>();
    let ttl = Number.POSITIVE_INFINITY;
    let next: string | undefined = name;
    while (next !== undefined) {
      if (asked.has(next)) throw this.#upstream(`the aliases of ${name} lead in a circle`);
      if (asked.size >= MAX_QUESTIONS) throw this.#upstream(`${name} has too many aliases`);
      asked.add(next);
      const conclusion = await this.#ask({ name: next, type }, signal);
      ttl = Math.min(ttl, conclusion.ttl);
      if (conclusion.kind === 'addresses') return { addresses: conclusion.addresses, ttl };
      if (conclusion.kind === 'none') return { addresses: [], ttl, absent: conclusion.absent };
      // An alias of what is not a host name leads nowhere.
      next = canonicalName(conclusion.name);
    }
    return { addresses: [], ttl };
  }

  close(): void {
    this.#exchange.close();
  }

  async #ask(question: Question, signal: AbortSignal): Promise<Conclusion> {
    const { rcode, ...reply } = await this.#reply(question, signal);
    if (rcode !== RCODE_NOERROR && rcode !== RCODE_NXDOMAIN) {
      throw this.#upstream(`answered ${RCODES[rcode] ?? `code ${rcode}`}`);
    }
    // Where datagrams are not the limit, nothing is left that would give the rest.
    if (reply.truncated) throw this.#upstream(`the answer about ${question.name} is cut`);
    try {
      return concludeReply({ rcode, ...reply }, question);
    } catch (error) {
      throw this.#upstream(messageOf(error), error);
    }
  }

  /** Exchanges, and tells the log when the server stops answering and when it does again. */
  async #reply(question: Question, signal: AbortSignal): Promise<Reply> {
    try {
      const reply = await this.#exchange.ask(question, signal);
      if (this.#failing) this.#log.info(`DNS server ${this.#exchange.server} answers again`);
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
