import { randomInt } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { formatEndpoint, ipVersion, type Endpoint } from '../net/address.ts';
import type { Clock } from '../net/clock.ts';
import { abortedDial, DeadlineError } from '../net/errors.ts';
import { serverError, type Exchange } from './exchange.ts';
import {
  encodeQuery,
  RCODE_FORMERR,
  RCODE_NOTIMP,
  readReply,
  type Question,
  type Reply,
} from './message.ts';
import { askOverTcp } from './tcp-question.ts';

/** How long each try waits; the next one asks anew. Together less than a question may take. */
const TRY_MS: readonly number[] = [1000, 2000, 4000];

/**
 * Plain DNS over UDP (RFC 1035 §4.2.1).
 *
 * Every try has its own socket and id, so that a forger has to guess the source port and the id of
 * one short moment (RFC 5452 §4.5); the socket is connected, so the kernel drops what other hosts
 * send. A cut answer is asked again over TCP (RFC 7766 §5).
 */
export class UdpExchange implements Exchange {
  readonly server: string;
  readonly #server: Endpoint;
  readonly #clock: Clock;

  constructor(server: Endpoint, clock: Clock) {
    this.server = formatEndpoint(server);
    this.#server = server;
    this.#clock = clock;
  }

  async ask(question: Question, signal: AbortSignal): Promise<Reply> {
    let failure: unknown;
    let edns = true;
    for (const limit of TRY_MS) {
      if (signal.aborted) throw abortedDial(signal);
      try {
        const reply = await this.#try(question, edns, limit, signal);
        if (reply.truncated) return await this.#overTcp(question, signal);
        // A server from before EDNS does not understand the message (RFC 6891 §7).
        if (!edns || (reply.rcode !== RCODE_FORMERR && reply.rcode !== RCODE_NOTIMP)) return reply;
        edns = false;
      } catch (error) {
        failure = error;
      }
    }
    if (signal.aborted) throw abortedDial(signal);
    throw serverError(this.#server, failure);
  }

  close(): void {
    // Nothing is kept open between questions.
  }

  #overTcp(question: Question, signal: AbortSignal): Promise<Reply> {
    return askOverTcp(this.#server, question, this.#clock, signal);
  }

  async #try(
    question: Question,
    edns: boolean,
    limit: number,
    signal: AbortSignal,
  ): Promise<Reply> {
    const query = encodeQuery(question, { id: randomInt(0x1_0000), edns });
    const socket = createSocket(ipVersion(this.#server.host) === 6 ? 'udp6' : 'udp4');
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
      socket.connect(this.#server.port, this.#server.host);
      return await promise;
    } finally {
      timer.cancel();
      signal.removeEventListener('abort', onAbort);
      socket.off('connect', onConnect);
      socket.close();
    }
  }
}
