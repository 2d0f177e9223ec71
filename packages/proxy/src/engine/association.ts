import { type Endpoint, formatEndpoint, normalizeHost, shownSource } from '@weir/io/addresses';
import { asError, messageOf } from '@weir/base';
import { type Clock, type Deadline, type Timer, UDP_DNS_IDLE_MS, udpIdleMs } from '@weir/io/time';
import { KeptDatagrams } from '@weir/io/bounds';
import { IdleTimer } from '@weir/io/pace';
import { DialError } from '@weir/io';
import type { Packet, PacketLink, Unreachable } from '@weir/io/links';
import type { Logger } from '@weir/base/log';
import type { PacketRequest } from '../protocols/contract.ts';
import { PendingRoutes } from './pending-routes.ts';
import type { RouteQuery } from './router/query.ts';
import type { Flow } from '../tracker/flow.ts';
import { type DialledFlow, flowInfo } from './dial.ts';
import { accountRemoved, clientLeft, notAHost } from './dial-errors.ts';
import type { FlowDialer } from './flow-dialer.ts';
import { LimitedDatagrams } from './limited-datagrams.ts';
import { causeOfSilence, closedLine, flowFields, openedLine } from './flow-log.ts';
import {
  type OutboundVersion,
  type Resolved,
  resolveRoute,
  type RoutingSnapshot,
} from './routing-snapshot.ts';
import type { Tracker } from '../tracker/tracker.ts';

/** Milliseconds for which packets are dropped after a failed dial, before the next attempt. */
const FAILED_MS = 1_000;
/** Packets that are queued while the outbound is being opened. */
const KEPT_WHILE_OPENING = 64;

/** The parts of the engine that an association uses. */
interface AssociationDeps {
  readonly tracker: Tracker;
  readonly clock: Clock;
  readonly log: Logger;
  readonly snapshot: () => RoutingSnapshot;
  readonly dialer: FlowDialer;
}

interface SubLinkDeps extends AssociationDeps {
  readonly onClose: () => void;
}

/** The packets of one association through one outbound; once open, it is one flow. */
class SubLink {
  readonly #request: PacketRequest;
  /** The route; once the sub-link is open, with the outbound that it uses. */
  #resolved: Resolved;
  /** The peer of the first packet, as the client wrote it; `#first` is the peer as it is sent. */
  readonly #opener: Endpoint;
  readonly #first: Endpoint;
  readonly #client: PacketLink;
  readonly #deps: SubLinkDeps;
  #state: 'opening' | 'open' | 'failed' | 'closed' = 'opening';
  #waiting: Packet[] = [];
  readonly #room = new KeptDatagrams();
  #dial: Deadline | undefined;
  #remote: PacketLink | undefined;
  #flow: Flow | undefined;
  /** The datagrams of each direction, once the account has limits. */
  #limitedUp: LimitedDatagrams | undefined;
  #limitedDown: LimitedDatagrams | undefined;
  /** The timer that closes the sub-link after a failed dial, so that the next packet opens another. */
  #retry: Timer | undefined;
  /** The reason of the failed dial, if clients are to be notified. */
  #refusal: Unreachable | undefined;
  readonly #idle: IdleTimer;
  /** The idle limit in milliseconds; shorter as long as all packets go to port 53. */
  #idleMs = UDP_DNS_IDLE_MS;

  constructor(
    request: PacketRequest,
    resolved: Resolved,
    opener: Endpoint,
    first: Endpoint,
    client: PacketLink,
    deps: SubLinkDeps,
  ) {
    this.#request = request;
    this.#resolved = resolved;
    this.#opener = opener;
    this.#first = first;
    this.#client = client;
    this.#deps = deps;
    this.#idle = new IdleTimer(
      deps.clock,
      () => this.#idleMs,
      () => this.close(),
    );
    void this.#run();
  }

  /** Sends a packet to its peer, queues it while the outbound is being opened, or drops it. */
  send(packet: Packet): void {
    this.#idleMs = Math.max(this.#idleMs, udpIdleMs(packet.peer.port));
    this.#idle.touch();
    if (this.#state === 'opening') {
      this.#keep(packet);
    } else if (this.#state === 'open') {
      if (this.#flow?.upGate) this.#toRemoteLimited(packet);
      else this.#toRemote(packet);
    } else if (this.#state === 'failed' && this.#refusal) {
      this.#client.refuse?.(packet.peer, this.#refusal);
    }
  }

  #toRemote(packet: Packet): void {
    this.#flow?.addUp(packet.data.length);
    this.#remote?.send(packet);
  }

  #toClient(packet: Packet): void {
    this.#flow?.addDown(packet.data.length);
    this.#client.send(packet);
  }

  #toRemoteLimited(packet: Packet): void {
    this.#limitedUp ??= new LimitedDatagrams(
      () => this.#flow?.upGate,
      (allowed) => this.#toRemote(allowed),
    );
    this.#limitedUp.send(packet);
  }

  #toClientLimited(packet: Packet): void {
    this.#limitedDown ??= new LimitedDatagrams(
      () => this.#flow?.downGate,
      (allowed) => this.#toClient(allowed),
    );
    this.#limitedDown.send(packet);
  }

  #keep(packet: Packet): void {
    if (this.#waiting.length >= KEPT_WHILE_OPENING) return;
    const kept = this.#room.keep(packet);
    if (kept) this.#waiting.push(kept);
  }

  #takeWaiting(): readonly Packet[] {
    const waiting = this.#waiting;
    this.#waiting = [];
    this.#room.release(waiting);
    return waiting;
  }

  close(): void {
    if (this.#state === 'closed') return;
    this.#state = 'closed';
    this.#retry?.cancel();
    this.#idle.stop();
    this.#takeWaiting();
    this.#limitedUp?.close();
    this.#limitedDown?.close();
    this.#dial?.abort(clientLeft());
    try {
      this.#remote?.close();
      this.#flow?.close();
      if (this.#flow && this.#deps.log.enabled('debug')) {
        this.#deps.log.debug(closedLine(this.#flow), flowFields(this.#flow));
      }
    } finally {
      this.#deps.onClose();
    }
  }

  /** Opens the outbound and relays packets. Never rejects. */
  async #run(): Promise<void> {
    using dialled = await this.#associate();
    if (!dialled) return;
    let failure: Error | undefined;
    try {
      this.#resolved = dialled.resolved;
      this.#start(dialled.link);
      await dialled.link.receiveAll((packet) => this.#receive(packet));
    } catch (error) {
      failure = asError(error);
      const { tag } = this.#resolved.version;
      const { inbound, source } = this.#request.origin;
      const shown = shownSource(source);
      const fields = { inbound, source: shown, outbound: tag, error: failure.message };
      this.#deps.log.debug(`udp by ${tag} ended: ${failure.message}`, fields);
    }
    if (this.#state === 'open') this.#reportSilence(failure);
    this.close();
  }

  /**
   * Logs that the outbound has ended the link without a single response. A link that is merely idle is not
   * logged, since many protocols over UDP have no responses.
   */
  #reportSilence(failure: Error | undefined): void {
    const { dialer } = this.#deps;
    const { failures, stopped } = dialer;
    const flow = this.#flow;
    if (!flow || flow.down > 0 || flow.killed || stopped || !failures.enabled) return;
    const { suspect } = this.#resolved.version.outbound;
    const cause = causeOfSilence(flow.up, { failure, first: 'remote', failed: 'remote' }, suspect);
    if (cause === undefined) return;
    dialer.report(flow.info, flow.info.destination, this.#resolved, cause);
  }

  async #associate(): Promise<DialledFlow<PacketLink> | undefined> {
    const { clock, dialer } = this.#deps;
    using deadline = dialer.limit();
    this.#dial = deadline;
    try {
      const { origin } = this.#request;
      return await dialer.associate(this.#resolved, this.#opener, origin, deadline, this.#first);
    } catch (error) {
      // The dialer has logged the failure. Packets are dropped until the next attempt.
      if (this.#state === 'closed') return undefined;
      this.#state = 'failed';
      this.#refusal = refusalOf(error);
      if (error instanceof DialError) this.#request.onFailure?.(this.#opener, error);
      this.#retry = clock.after(FAILED_MS, () => this.close());
      for (const packet of this.#takeWaiting()) this.send(packet);
      return undefined;
    } finally {
      this.#dial = undefined;
    }
  }

  #start(remote: PacketLink): void {
    if (this.#state === 'closed') {
      // The client has disconnected while the outbound was being opened.
      remote.close();
      return;
    }
    this.#remote = remote;
    const client = this.#client;
    if (client.refuse) {
      const onUnreachable: PacketLink['onUnreachable'] = (peer, reason) =>
        client.refuse?.(peer, reason);
      remote.onUnreachable = onUnreachable;
    }
    this.#state = 'open';
    const destination = { ...this.#opener, network: 'udp' as const };
    this.#flow = this.#deps.tracker.openFlow(
      flowInfo(this.#request, destination, undefined, this.#resolved),
      () => this.close(),
    );
    if (this.#deps.log.enabled('debug')) {
      this.#deps.log.debug(openedLine(this.#flow), flowFields(this.#flow));
    }
    this.#idle.start();
    for (const packet of this.#takeWaiting()) this.send(packet);
  }

  /** Handles a packet for the client. */
  #receive(packet: Packet): void {
    this.#idle.touch();
    if (this.#flow?.downGate) this.#toClientLimited(packet);
    else this.#toClient(packet);
  }
}

function refusalOf(error: unknown): Unreachable | undefined {
  if (!(error instanceof DialError)) return undefined;
  if (error.code === 'unreachable_network') return 'network unreachable';
  return error.code === 'unreachable_host' ? 'host unreachable' : undefined;
}

/** Decisions that are cached by peer; the cache is cleared when it is full. */
const KEPT_DECISIONS = 1024;

/** The route of packets to one peer: the peer with its canonical host, and the outbound. */
interface Decision {
  readonly peer: Endpoint;
  readonly resolved: Resolved;
}

/**
 * The UDP association of one client: each packet is routed, and packets to the same outbound share a sub-link, which is
 * a flow. The association lives as long as the client's link; after the account was removed, and in a drain, as long as
 * its flows.
 */
export class Association {
  readonly #request: PacketRequest;
  readonly #deps: AssociationDeps;
  readonly #links = new Map<OutboundVersion, SubLink>();
  readonly #decisions = new Map<string, Decision | undefined>();
  /** Peers about which the host program is asked. */
  #pending: PendingRoutes | undefined;
  #decidedOn: RoutingSnapshot | undefined;
  #wasUsed = false;
  /** The peer of the last packet, as the client wrote it. */
  #lastPeer: Endpoint | undefined;
  #lastDecision: Decision | undefined;

  constructor(request: PacketRequest, deps: AssociationDeps) {
    this.#request = request;
    this.#deps = deps;
  }

  /** Carries packets until the client's link closes; never rejects. */
  async run(): Promise<void> {
    const { client, origin } = this.#request;
    const { account } = origin;
    if (account?.isValid === false) {
      client.close(accountRemoved());
      return;
    }
    let isNew = true;
    const endWatch = account?.watch(() => {
      if (this.#links.size > 0) return;
      // In a drain the first datagram of a new association may still arrive: it has until the next check.
      if (!isNew || this.#wasUsed || !account.isValid) client.close();
      isNew = false;
    });
    try {
      await client.receiveAll((packet) => this.#forward(packet));
    } catch (error) {
      this.#deps.log.debug(
        `${this.#request.origin.inbound}: udp association ended: ${String(error)}`,
        {
          inbound: origin.inbound,
          source: shownSource(origin.source),
          error: messageOf(error),
        },
      );
    } finally {
      endWatch?.();
      this.#pending?.close();
      for (const link of this.#links.values()) link.close();
      client.close();
    }
  }

  #forward(packet: Packet): void {
    const decision = this.#decide(packet);
    if (decision) this.#send(packet, decision);
  }

  #send(packet: Packet, { peer, resolved }: Decision): void {
    let link = this.#links.get(resolved.version);
    if (!link) {
      const refusal = this.#refusal();
      if (refusal) {
        // Without a flow the link has nothing to wait for.
        if (this.#links.size === 0) this.#request.client.close(refusal);
        return;
      }
      this.#wasUsed = true;
      link = this.#open(resolved, packet.peer, peer);
      this.#links.set(resolved.version, link);
    }
    link.send(peer.host === packet.peer.host ? packet : { data: packet.data, peer });
  }

  /** Routes a packet; `undefined` if it waits for the host program, or was dropped, as when its host is invalid. */
  #decide(packet: Packet): Decision | undefined {
    const { peer: written } = packet;
    const snapshot = this.#deps.snapshot();
    // Most packets have the same peer as the previous one, and framings reuse the object.
    if (written === this.#lastPeer && snapshot === this.#decidedOn) {
      const last = this.#lastDecision;
      if (last && this.#links.has(last.resolved.version)) return last;
    }
    this.#lastPeer = written;
    this.#lastDecision = this.#decideOn(snapshot, packet);
    return this.#lastDecision;
  }

  #decideOn(snapshot: RoutingSnapshot, packet: Packet): Decision | undefined {
    const { peer: written } = packet;
    if (snapshot !== this.#decidedOn || this.#decisions.size >= KEPT_DECISIONS) {
      this.#decisions.clear();
      this.#decidedOn = snapshot;
    }
    const key = formatEndpoint(written);
    const known = this.#decisions.get(key);
    // A balancer may pick another outbound by now, but packets of one peer keep their sub-link while it is open.
    if (known && this.#links.has(known.resolved.version)) return known;
    if (!known && this.#decisions.has(key)) return undefined;
    const peer = known?.peer ?? this.#peerOf(written);
    const resolved = peer && this.#resolve(snapshot, peer, packet);
    if (peer && !resolved) return undefined;
    const decision = peer && resolved && { peer, resolved };
    this.#decisions.set(key, decision);
    return decision;
  }

  #createPending(): PendingRoutes {
    return new PendingRoutes({
      clock: this.#deps.clock,
      onRoute: (written, resolved, packets) => this.#routed(written, resolved, packets),
      onFailure: (written, error) => this.#request.onFailure?.(written, error),
    });
  }

  /** Sends the packets that have waited for the route to their peer. */
  #routed(written: Endpoint, resolved: Resolved, packets: readonly Packet[]): void {
    const peer = this.#peerOf(written);
    if (!peer) return;
    const decision = { peer, resolved };
    this.#decisions.set(formatEndpoint(written), decision);
    for (const packet of packets) this.#send(packet, decision);
  }

  #peerOf(written: Endpoint): Endpoint | undefined {
    const host = normalizeHost(written.host);
    if (host === undefined) {
      const { inbound, user, source } = this.#request.origin;
      const { message: error } = notAHost(written.host);
      const fields = { inbound, user, source, port: written.port, error };
      this.#deps.dialer.failures.write(`${inbound} -> udp: ${error}`, fields);
      return undefined;
    }
    return { host, port: written.port };
  }

  /** Returns the route to a peer; `undefined` if the packet waits for it, or was dropped. */
  #resolve(snapshot: RoutingSnapshot, peer: Endpoint, packet: Packet): Resolved | undefined {
    const { origin, via, isResolver } = this.#request;
    const { routes } = this.#deps.dialer;
    if (isResolver?.(packet.peer)) return routes.resolverRoute(snapshot);
    const { inbound, source } = origin;
    const query: RouteQuery = { inbound, source, network: 'udp', ...peer, sniffed: undefined };
    if (via === undefined && !routes.asks) return resolveRoute(snapshot, query);
    this.#pending ??= this.#createPending();
    return this.#pending.route(packet, () => routes.route(query, origin, { via }));
  }

  /** Returns why no flow may be opened, if its account was removed or has reached a limit. */
  #refusal(): DialError | undefined {
    const { origin } = this.#request;
    return origin.account?.isValid === false
      ? accountRemoved()
      : this.#deps.dialer.refusedByLimit(origin);
  }

  #open(resolved: Resolved, opener: Endpoint, first: Endpoint): SubLink {
    const { client, endsWithFlows, origin } = this.#request;
    return new SubLink(this.#request, resolved, opener, first, client, {
      ...this.#deps,
      onClose: () => {
        this.#links.delete(resolved.version);
        if (this.#links.size > 0) return;
        if (endsWithFlows === true || origin.account?.mayWait === false) client.close();
      },
    });
  }
}
