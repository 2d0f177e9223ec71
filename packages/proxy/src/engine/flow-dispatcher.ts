import { type Destination, ipVersion, normalizeHost, shownSource } from '@weir/io/addresses';
import { asError, messageOf } from '@weir/base';
import { Deadline } from '@weir/io/time';
import { LinkClosedError } from '@weir/io';
import { type ByteLink, relay, type RelayEnd } from '@weir/io/links';
import type { Dispatcher, PacketRequest, StreamRequest } from '../protocols/contract.ts';
import type { Flow } from '../tracker/flow.ts';
import type { Tracker } from '../tracker/tracker.ts';
import { Association } from './association.ts';
import { type DialledFlow, flowInfo } from './dial.ts';
import { accountRemoved, notAHost } from './dial-errors.ts';
import { FlowDialer, type FlowDialerDeps } from './flow-dialer.ts';
import { causeOfSilence, closedLine, flowFields, openedLine } from './flow-log.ts';
import type { Resolved } from './routing-snapshot.ts';
import type { RouteQuery } from './router/query.ts';
import { sniff, SNIFF_TIMEOUT_MS, sniffAhead, sniffUntil } from './sniff.ts';

export interface DispatcherDeps extends Omit<FlowDialerDeps, 'outcomes' | 'limits'> {
  readonly tracker: Tracker;
}

/**
 * Serves the requests of inbounds: sniffs if requested, routes, dials, registers the flow, relays it, and
 * unregisters it.
 */
export class FlowDispatcher implements Dispatcher {
  readonly #deps: DispatcherDeps;
  readonly #dialer: FlowDialer;

  constructor(deps: DispatcherDeps) {
    this.#deps = deps;
    this.#dialer = new FlowDialer({
      ...deps,
      outcomes: deps.tracker.outcomes,
      limits: deps.tracker.limits,
    });
  }

  /**
   * Refuses new flows, including those of live sessions, since the process is stopping. Otherwise a client with a
   * carrier of many flows would open more until the grace period ends, and all of them would be reset.
   */
  refuseNew(): void {
    this.#dialer.refuseNew();
  }

  /** Aborts every pending dial, since the grace period of a stop has expired. */
  stop(): void {
    this.#dialer.stop();
  }

  async stream(request: StreamRequest): Promise<void> {
    const { origin, destination } = request;
    if (origin.account?.isValid === false) throw accountRemoved();
    const refusal = this.#dialer.refusedByLimit(origin);
    if (refusal) throw refusal;
    origin.session?.authenticated?.();
    const query: RouteQuery = {
      inbound: origin.inbound,
      source: origin.source,
      network: 'tcp',
      host: this.#hostOf(request),
      port: destination.port,
      sniffed: undefined,
    };
    const { toResolver, via, signal } = request;
    const sniffable = request.sniff && toResolver !== true && ipVersion(query.host) !== 0;

    // A sniffed name could change the route, so it is needed before the dial; and the client sends its first bytes only
    // after it was accepted.
    if (sniffable && via === undefined && this.#deps.snapshot().routes.needsDomain(query)) {
      const client = await request.accept();
      const sniffed = await sniff(client, { clock: this.#deps.clock });
      let dialled: DialledFlow<ByteLink>;
      try {
        dialled = await this.#dialer.connect({ ...query, sniffed }, origin, { client, signal });
      } catch (error) {
        client.destroy(asError(error));
        return;
      }
      return this.#carry(request, sniffed, client, dialled);
    }

    const { client: watched } = request;
    const options = { client: watched, toResolver, via, signal };
    const dialled = await this.#dialer.connect(query, origin, options);
    let client: ByteLink;
    try {
      client = await request.accept();
    } catch (error) {
      dialled[Symbol.dispose]();
      this.#deps.log.debug(`${origin.inbound}: the client has left: ${messageOf(error)}`, {
        inbound: origin.inbound,
        source: shownSource(origin.source),
        error: messageOf(error),
      });
      return;
    }
    const sniffed = sniffable ? await this.#sniffBeside(client, dialled.link) : undefined;
    return this.#carry(request, sniffed?.name, client, dialled, sniffed?.firstDown);
  }

  packets(request: PacketRequest): Promise<void> {
    request.origin.session?.authenticated?.();
    return new Association(request, { ...this.#deps, dialer: this.#dialer }).run();
  }

  /**
   * Returns the canonical host of a destination.
   * @throws {DialError} `not_found` for an invalid host
   */
  #hostOf({ origin, destination }: StreamRequest): string {
    const host = normalizeHost(destination.host);
    if (host !== undefined) return host;
    const failure = notAHost(destination.host);
    const { inbound, user, source } = origin;
    const fields = {
      inbound,
      user,
      source: shownSource(source),
      port: destination.port,
      error: failure.message,
    };
    this.#dialer.failures.write(`${inbound} -> tcp: ${failure.message}`, fields);
    throw failure;
  }

  /**
   * Sniffs the name of a connected flow, for its record only. Stops when the server sends first: the protocol is then
   * neither TLS nor HTTP.
   */
  async #sniffBeside(client: ByteLink, remote: ByteLink): Promise<SniffedBeside> {
    const ahead = sniffAhead(client);
    if (ahead.done) return { name: ahead.domain, firstDown: undefined };
    using limit = new Deadline(this.#deps.clock, SNIFF_TIMEOUT_MS, 'sniffing');
    const { signal } = limit;
    // The kernel relays only between links that are not being read. On other links the read stays pending, since
    // aborting it would pass through every layer of a carrier as an error.
    const maySplice = client.spliceTo !== undefined && remote.spliceTo !== undefined;
    const read = remote.read(maySplice ? signal : undefined);
    let isOver = false;
    const end = (): void => {
      if (!isOver) limit.abort(WAIT_IS_OVER);
    };
    const serverSent = read.then((chunk) => {
      if (maySplice && chunk) remote.unread(chunk);
      end();
    }, end);
    const name = await sniffUntil(client, signal);
    if (!maySplice) {
      isOver = true;
      return { name, firstDown: read };
    }
    end();
    await serverSent;
    return { name, firstDown: undefined };
  }

  /**
   * Registers the flow, relays it and disposes of `dialled`. Callers return this promise instead of awaiting
   * it, since their frames would be kept in memory as long as the flow is open.
   */
  #carry(
    request: StreamRequest,
    sniffed: string | undefined,
    client: ByteLink,
    dialled: DialledFlow<ByteLink>,
    firstDown?: Promise<Uint8Array | undefined>,
  ): Promise<void> {
    const { tracker, clock, log } = this.#deps;
    const { link: remote, resolved } = dialled;
    const destination: Destination = { ...request.destination, network: 'tcp' };
    let flow: Flow;
    try {
      const info = flowInfo(request, destination, sniffed, resolved);
      flow = tracker.openFlow(info, (cause = closedByOperator()) => {
        client.destroy(cause);
        remote.destroy(cause);
      });
    } catch (error) {
      dialled[Symbol.dispose]();
      throw error;
    }
    if (log.enabled('debug')) log.debug(openedLine(flow), flowFields(flow));
    request.onFlow?.(flow);
    return relay(client, remote, flow, clock, firstDown).then((end) => {
      try {
        flow.close();
        if (log.enabled('debug')) {
          log.debug(closedLine(flow, end.failure), flowFields(flow, end.failure));
        }
        if (flow.down === 0) this.#reportSilence(flow, resolved, end);
      } finally {
        dialled[Symbol.dispose]();
      }
    });
  }

  /** Reports a flow that has ended without a byte from its destination, unless the client has caused that. */
  #reportSilence(flow: Flow, resolved: Resolved, end: RelayEnd): void {
    const { failures, stopped } = this.#dialer;
    if (
      !failures.enabled ||
      stopped ||
      flow.killed ||
      this.#dialer.routes.leadsToResolver(resolved)
    )
      return;
    const cause = causeOfSilence(flow.up, end, resolved.version.outbound.suspect);
    if (cause !== undefined) this.#dialer.report(flow.info, flow.info.destination, resolved, cause);
  }
}

const closedByOperator = (): Error => new LinkClosedError('the flow was closed by the operator');

/** The result of sniffing beside the first read of the server. */
interface SniffedBeside {
  readonly name: string | undefined;
  /** The first read of the server, if it was not aborted. */
  readonly firstDown: Promise<Uint8Array | undefined> | undefined;
}

/** Shared by all aborted waits: creating an error with its stack costs more than the wait. */
const WAIT_IS_OVER = new LinkClosedError('the wait is over');
