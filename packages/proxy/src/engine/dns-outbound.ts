import { type Clock, UDP_DNS_IDLE_MS } from '@weir/io/time';
import { UnitCost, UnitShare } from '@weir/io/bounds';
import { LinkClosedError } from '@weir/io';
import { IdleTimer } from '@weir/io/pace';
import {
  type ByteLink,
  linkPair,
  type Packet,
  type PacketLink,
  ClosablePackets,
} from '@weir/io/links';
import type { DnsService } from '../dns/backend.ts';
import { frame, FramedMessageReader } from '../dns/exchanges/exchange.ts';
import { respond } from '../dns/responder.ts';
import type { DialOptions, Outbound } from '../protocols/contract.ts';

/** Pending queries of one client; beyond this number a stream is not read, and datagrams are dropped. */
const MOST_AT_ONCE = 64;

/**
 * The outbound to the proxy's own resolver: serves it as a DNS server over streams and datagrams, so that queries are
 * ordinary flows.
 */
export class DnsOutbound implements Outbound {
  readonly #service: DnsService;
  readonly #clock: Clock;

  constructor(service: DnsService, clock: Clock) {
    this.#service = service;
    this.#clock = clock;
  }

  connect(_destination: unknown, { origin }: DialOptions): Promise<ByteLink> {
    const [client, server] = linkPair();
    void this.#serve(server, origin?.source);
    return Promise.resolve(client);
  }

  associate({ origin }: DialOptions): Promise<PacketLink> {
    return Promise.resolve(new ResolverLink(this.#service, origin?.source));
  }

  close(): void {
    // Flows share only the resolver, which belongs to the supervisor.
  }

  /** Responds to the queries of a stream, in any order (RFC 7766 §6.2.1.1), until it ends or is idle. */
  async #serve(link: ByteLink, client: string | undefined): Promise<void> {
    const ended = new AbortController();
    const end = (cause?: Error): void => {
      ended.abort(new LinkClosedError('the client has left'));
      link.destroy(cause);
    };
    const idle = new IdleTimer(
      this.#clock,
      () => UDP_DNS_IDLE_MS,
      () => end(),
    );
    idle.start();
    void link.closed.then(() => end());
    const pending = new Set<Promise<void>>();
    const messages = new FramedMessageReader(link);
    // All streams of a client share one place: a read has room for 2,000 queries that the cache answers at once.
    const units = new UnitShare(client);
    try {
      for (;;) {
        const query = await messages.next();
        idle.touch();
        const answered = this.#answer(query, link, client, ended.signal)
          .catch(() => end())
          .finally(() => pending.delete(answered));
        pending.add(answered);
        if (pending.size >= MOST_AT_ONCE) await Promise.race(pending);
        const turn = units.take(UnitCost.head);
        if (turn) await turn;
      }
    } catch {
      // At the end of the stream earlier queries still get their responses.
      await Promise.all(pending);
      await link.closeWrite().catch(() => undefined);
    } finally {
      idle.stop();
      end();
    }
  }

  async #answer(
    query: Buffer,
    link: ByteLink,
    client: string | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    const asker = { address: client, datagram: false };
    const response = await respond(query, this.#service, asker, signal);
    if (response) await link.write(frame(response));
  }
}

/** The datagrams of one client to the resolver. */
class ResolverLink extends ClosablePackets implements PacketLink {
  readonly #service: DnsService;
  readonly #client: string | undefined;
  readonly #ended = new AbortController();
  #pending = 0;

  constructor(service: DnsService, client: string | undefined) {
    super();
    this.#service = service;
    this.#client = client;
  }

  send({ data, peer }: Packet): void {
    if (this.#ended.signal.aborted || this.#pending >= MOST_AT_ONCE) {
      this.refused++;
      return;
    }
    this.#pending++;
    const asker = { address: this.#client, datagram: true };
    void respond(data, this.#service, asker, this.#ended.signal).then((response) => {
      this.#pending--;
      if (response) this.queue.push({ data: response, peer });
    });
  }

  close(cause?: Error): void {
    if (this.#ended.signal.aborted) return;
    this.#ended.abort(new LinkClosedError('the client has left'));
    this.queue.end(cause);
    this.resolveClosed(cause);
  }
}
