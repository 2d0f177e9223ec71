import { type RandomSource, SystemRandomSource } from '@weir/base/random';
import { type Endpoint, formatEndpoint, ipVersion } from '@weir/io/addresses';
import { type Clock, Deadline, TurnShare, unlessAborted } from '@weir/io/time';
import { abortedDial, DeadlineError, DialError, ProtocolError } from '@weir/io';
import type { PacketLink } from '@weir/io/links';
import { systemSockets } from '@weir/io/sockets';
import {
  type DnsExchange,
  frame,
  FramedMessageReader,
  ReadingTurns,
  serverError,
} from './exchange.ts';
import {
  type DnsReply,
  encodeQuery,
  type Question,
  type RawQuestion,
  RCODE_NOTIMP,
  RCODE_REFUSED,
  RCODE_SERVFAIL,
  readReply,
  rejectsEdns,
} from '../message.ts';

/** Milliseconds that each attempt waits; together less than the limit of a question. */
const TRY_MS: readonly number[] = [1000, 2000, 4000];

/** Queries of a server list that are sent in one turn of the event loop: each takes a socket and a tenth of a millisecond. */
export const QUERIES_A_TURN = 64;

/** Milliseconds for connecting and for the reply together. */
const TCP_MS = 5000;

/** Number of message ids, which have 16 bits (RFC 1035 §4.1.1). */
const IDS = 0x1_0000;

/** Response codes that concern the server, not the name: another server may have the answer. */
const ASK_ANOTHER: ReadonlySet<number> = new Set([RCODE_SERVFAIL, RCODE_NOTIMP, RCODE_REFUSED]);

export interface UdpExchangeOptions {
  /** Milliseconds to wait for each server, by round. */
  readonly rounds?: readonly number[];
  /** Whether questions start with each server in turn. */
  readonly rotate?: boolean;
  /** The source of ids. */
  readonly random?: RandomSource;
}

/**
 * Plain DNS over UDP (RFC 1035 §4.2.1).
 *
 * Each attempt has its own socket and id, so that an attacker has to guess both the source port and the id (RFC 5452
 * §4.5); the socket is connected, so the kernel drops datagrams of other hosts. After a truncated reply the question is
 * repeated over TCP (RFC 7766 §5). Of several servers, the next one is asked when a server does not respond in time or
 * reports a failure of its own; a server that did not respond is asked last for a while.
 */
export class UdpExchange implements DnsExchange {
  readonly server: string;
  readonly #order: ServerOrder;
  readonly #clock: Clock;
  readonly #rounds: readonly number[];
  readonly #random: RandomSource;
  readonly #turns = new ReadingTurns();
  readonly #queries = new TurnShare(QUERIES_A_TURN);

  /**
   * Creates an exchange.
   * @param servers at least one.
   */
  constructor(
    servers: readonly Endpoint[],
    clock: Clock,
    { rounds = TRY_MS, rotate = false, random = new SystemRandomSource() }: UdpExchangeOptions = {},
  ) {
    this.server = servers.map(formatEndpoint).join(', ');
    this.#order = new ServerOrder(servers, clock, rotate);
    this.#clock = clock;
    this.#rounds = rounds;
    this.#random = random;
  }

  async ask(question: Question | RawQuestion, signal: AbortSignal): Promise<DnsReply> {
    const servers = this.#order.next();
    const withoutEdns = new Set<Endpoint>();
    let failure: DialError | undefined;
    for (const limit of this.#rounds) {
      let refusal: DnsReply | undefined;
      for (const server of servers) {
        if (signal.aborted) throw abortedDial(signal);
        try {
          const reply = await this.#askOne(server, question, withoutEdns, limit, signal);
          this.#order.responded(server);
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
    throw failure ?? new DialError('upstream', 'no DNS server');
  }

  close(): void {
    // Nothing is kept open between questions.
  }

  /** Repeats the question without EDNS for a server that rejects it (RFC 6891 §7). */
  async #askOne(
    server: Endpoint,
    question: Question | RawQuestion,
    withoutEdns: Set<Endpoint>,
    limit: number,
    signal: AbortSignal,
  ): Promise<DnsReply> {
    let reply = await this.#try(server, question, !withoutEdns.has(server), limit, signal);
    if (rejectsEdns(reply) && !withoutEdns.has(server)) {
      withoutEdns.add(server);
      reply = await this.#try(server, question, false, limit, signal);
    }
    if (!reply.truncated) return reply;
    return this.#askOverTcp(server, question, !withoutEdns.has(server), signal);
  }

  async #try(
    server: Endpoint,
    question: Question | RawQuestion,
    edns: boolean,
    limit: number,
    signal: AbortSignal,
  ): Promise<DnsReply> {
    const query = encodeQuery(question, { id: this.#random.below(IDS), edns });
    const turn = this.#queries.take();
    if (turn) await unlessAborted(turn, signal, abortedDial);
    using deadline = new Deadline(this.#clock, limit, 'an answer', signal);
    const family = ipVersion(server.host) === 6 ? 6 : 4;
    const socket = await systemSockets().bindUdp({ family, peer: server });
    try {
      socket.send({ data: query, peer: server });
      return await unlessAborted(replyTo(query, socket, this.#turns), deadline.signal, () =>
        signal.aborted ? abortedDial(signal) : new DeadlineError('no answer'),
      );
    } finally {
      socket.close();
    }
  }

  /** Asks over a separate TCP connection, for answers that do not fit a datagram. */
  async #askOverTcp(
    server: Endpoint,
    question: Question | RawQuestion,
    edns: boolean,
    signal: AbortSignal,
  ): Promise<DnsReply> {
    using deadline = new Deadline(this.#clock, TCP_MS, 'the answer over TCP', signal);
    const { link } = await systemSockets().connect(server, { signal: deadline.signal });
    try {
      const query = encodeQuery(question, { id: this.#random.below(IDS), edns });
      await link.write(frame(query));
      const message = await new FramedMessageReader(link, deadline.signal).next();
      const turn = this.#turns.take(message);
      if (turn) await unlessAborted(turn, deadline.signal);
      const reply = readReply(message, query);
      if (!reply) throw new ProtocolError('the answer over TCP is to another question');
      return reply;
    } finally {
      link.destroy();
    }
  }
}

/** Waits for the first datagram that is the reply to a query. */
async function replyTo(query: Buffer, socket: PacketLink, turns: ReadingTurns): Promise<DnsReply> {
  for (;;) {
    const packet = await socket.receive();
    if (!packet) throw new ProtocolError('the socket was closed');
    const turn = turns.take(packet.data);
    if (turn) await turn;
    const reply = readReply(packet.data, query);
    if (reply) return reply;
  }
}

/** Milliseconds for which a server that did not respond is asked last. */
const HOLD_MS = 10_000;

/**
 * The order in which the servers of one list are asked: as configured, or each first in turn.
 *
 * A server that did not respond comes after those that did, so that not every new name waits for it
 * (RFC 9520 §3.2). After HOLD_MS one question tries it first again, while all others keep it last.
 */
export class ServerOrder {
  readonly #servers: readonly Endpoint[];
  readonly #clock: Clock;
  readonly #rotate: boolean;
  /** Time at which a server that did not respond may be asked first again. */
  readonly #heldUntil = new Map<Endpoint, number>();
  #turn = 0;

  constructor(servers: readonly Endpoint[], clock: Clock, rotate: boolean) {
    this.#servers = servers;
    this.#clock = clock;
    this.#rotate = rotate;
  }

  /** Returns all servers, in the order for one question. */
  next(): readonly Endpoint[] {
    const now = this.#clock.now();
    const first = this.#rotate ? this.#turn++ % this.#servers.length : 0;
    const order = [...this.#servers.slice(first), ...this.#servers.slice(0, first)];
    if (this.#heldUntil.size === 0) return order;
    const isHeld = (server: Endpoint): boolean => (this.#heldUntil.get(server) ?? 0) > now;
    const sorted = [...order.filter((each) => !isHeld(each)), ...order.filter(isHeld)];
    const [tried] = sorted;
    if (tried && this.#heldUntil.has(tried)) this.silent(tried);
    return sorted;
  }

  /** Records that a server did not respond to a question. */
  silent(server: Endpoint): void {
    this.#heldUntil.set(server, this.#clock.now() + HOLD_MS);
  }

  /** Records that a server has responded, with any code. */
  responded(server: Endpoint): void {
    this.#heldUntil.delete(server);
  }
}
