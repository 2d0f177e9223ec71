import { randomInt } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { formatEndpoint, ipVersion, type Endpoint } from '../net/address.ts';
import type { Clock } from '../net/clock.ts';
import { abortedDial, DeadlineError, DialError } from '../net/errors.ts';
import { serverError, type Exchange } from './exchange.ts';
import {
  encodeQuery,
  RCODE_FORMERR,
  RCODE_NOTIMP,
  RCODE_REFUSED,
  RCODE_SERVFAIL,
  readReply,
  type Question,
  type Reply,
} from './message.ts';
import { ServerOrder } from './server-order.ts';
import { askOverTcp } from './tcp-question.ts';

/** How long each try waits; the next one asks anew. Together less than a question may take. */
const TRY_MS: readonly number[] = [1000, 2000, 4000];

/** Codes by which a server speaks for itself, not about the name: another one may know it. */
const ASK_ANOTHER: ReadonlySet<number> = new Set([RCODE_SERVFAIL, RCODE_NOTIMP, RCODE_REFUSED]);

export interface UdpExchangeOptions {
  /** How long every round waits for each server, in milliseconds. */
  readonly rounds?: readonly number[];
  /** Whether questions take turns at starting with each server. */
  readonly rotate?: boolean;
}

/**
 * Plain DNS over UDP (RFC 1035 §4.2.1).
 *
 * Every try has its own socket and id, so that a forger has to guess the source port and the id of
 * one short moment (RFC 5452 §4.5); the socket is connected, so the kernel drops what other hosts
 * send. A truncated answer is asked again over TCP (RFC 7766 §5). Of several servers the next one is
 * asked when one does not answer in time or cannot, and one that did not is asked last for a while.
 */
export class UdpExchange implements Exchange {
  readonly server: string;
  readonly #order: ServerOrder;
  readonly #clock: Clock;
  readonly #rounds: readonly number[];

  /** @param servers at least one. */
  constructor(
    servers: readonly Endpoint[],
    clock: Clock,
    { rounds = TRY_MS, rotate = false }: UdpExchangeOptions = {},
  ) {
    this.server = servers.map(formatEndpoint).join(', ');
    this.#order = new ServerOrder(servers, clock, rotate);
    this.#clock = clock;
    this.#rounds = rounds;
  }

  async ask(question: Question, signal: AbortSignal): Promise<Reply> {
    const servers = this.#order.next();
    const withoutEdns = new Set<Endpoint>();
    let failure = new DialError('upstream', 'no DNS server');
    for (const limit of this.#rounds) {
      let refusal: Reply | undefined;
      for (const server of servers) {
        if (signal.aborted) throw abortedDial(signal);
        try {
          const reply = await this.#askOne(server, question, withoutEdns, limit, signal);
          this.#order.answered(server);
          if (!ASK_ANOTHER.has(reply.rcode)) return reply;
          refusal = reply;
        } catch (error) {
          if (!signal.aborted) this.#order.silent(server);
          failure = serverError(server, error);
        }
      }
      if (refusal) return refusal;
    }
    if (signal.aborted) throw abortedDial(signal);
    throw failure;
  }

  close(): void {
    // Nothing is kept open between questions.
  }

  /** A server from before EDNS does not understand the message (RFC 6891 §7): then without it. */
  async #askOne(
    server: Endpoint,
    question: Question,
    withoutEdns: Set<Endpoint>,
    limit: number,
    signal: AbortSignal,
  ): Promise<Reply> {
    let reply = await this.#try(server, question, !withoutEdns.has(server), limit, signal);
    const baffled = reply.rcode === RCODE_FORMERR || reply.rcode === RCODE_NOTIMP;
    if (baffled && !withoutEdns.has(server)) {
      withoutEdns.add(server);
      reply = await this.#try(server, question, false, limit, signal);
    }
    return reply.truncated ? askOverTcp(server, question, this.#clock, signal) : reply;
  }

  async #try(
    server: Endpoint,
    question: Question,
    edns: boolean,
    limit: number,
    signal: AbortSignal,
  ): Promise<Reply> {
    const query = encodeQuery(question, { id: randomInt(0x1_0000), edns });
    const socket = createSocket(ipVersion(server.host) === 6 ? 'udp6' : 'udp4');
    const { promise, resolve, reject } = Promise.withResolvers<Reply>();
    const onAbort = (): void => reject(abortedDial(signal));
    const onConnect = (): void => socket.send(query);
    const timer = this.#clock.after(limit, () => {
      reject(new DeadlineError('no answer'));
    });
    signal.addEventListener('abort', onAbort);
    try {
      // "Connection refused" arrives here, when the server's host says that nobody listens.
      socket.on('error', reject);
      socket.on('message', (message) => {
        try {
          const reply = readReply(message, query);
          if (reply) resolve(reply);
        } catch (error) {
          reject(error);
        }
      });
      socket.once('connect', onConnect);
      // With a callback of its own, a failure to connect would not come as an event.
      socket.connect(server.port, server.host);
      return await promise;
    } finally {
      timer.cancel();
      signal.removeEventListener('abort', onAbort);
      socket.off('connect', onConnect);
      socket.close();
    }
  }
}
