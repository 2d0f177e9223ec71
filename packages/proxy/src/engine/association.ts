import { shownSource, formatEndpoint, type Endpoint, normalizeHost } from '@weir/io/addresses';
import { messageOf } from '@weir/base';
import type { Packet } from '@weir/io/links';
import type { PacketRequest } from '../protocols/contract.ts';
import type { OutboundVersion } from './outbound-version.ts';
import { accountRemoved, notAHost } from './flow-record.ts';
import { resolveRoute, type RoutingSnapshot, type Resolved } from './routing-snapshot.ts';
import { SubLink, type AssociationDeps } from './sub-link.ts';

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
    const { standing } = origin;
    if (standing?.stands === false) {
      client.close(accountRemoved());
      return;
    }
    let isNew = true;
    const endWatch = standing?.watch(() => {
      if (this.#links.size > 0) return;
      // In a drain the first datagram of a new association may still arrive: it has until the next check.
      if (!isNew || this.#wasUsed || !standing.stands) client.close();
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
      for (const link of this.#links.values()) link.close();
      client.close();
    }
  }

  #forward(packet: Packet): void {
    const decision = this.#decide(packet.peer);
    if (!decision) return;
    const { peer, resolved } = decision;
    let link = this.#links.get(resolved.version);
    if (!link) {
      if (this.#request.origin.standing?.stands === false) {
        this.#refuse();
        return;
      }
      this.#wasUsed = true;
      link = this.#open(resolved, packet.peer, peer);
      this.#links.set(resolved.version, link);
    }
    link.send(peer.host === packet.peer.host ? packet : { data: packet.data, peer });
  }

  /** Routes a packet; `undefined` for a peer whose host is invalid: the packet is dropped. */
  #decide(written: Endpoint): Decision | undefined {
    const plane = this.#deps.plane();
    // Most packets have the same peer as the previous one, and framings reuse the object.
    if (written === this.#lastPeer && plane === this.#decidedOn) {
      const last = this.#lastDecision;
      if (last && this.#links.has(last.resolved.version)) return last;
    }
    this.#lastPeer = written;
    this.#lastDecision = this.#decideOn(plane, written);
    return this.#lastDecision;
  }

  #decideOn(plane: RoutingSnapshot, written: Endpoint): Decision | undefined {
    if (plane !== this.#decidedOn || this.#decisions.size >= KEPT_DECISIONS) {
      this.#decisions.clear();
      this.#decidedOn = plane;
    }
    const key = formatEndpoint(written);
    const known = this.#decisions.get(key);
    // A balancer may pick another outbound by now, but packets of one peer keep their sub-link while it is open.
    if (known && this.#links.has(known.resolved.version)) return known;
    if (!known && this.#decisions.has(key)) return undefined;
    const peer = known?.peer ?? this.#peerOf(written);
    const decision = peer && { peer, resolved: this.#resolve(plane, peer, written) };
    this.#decisions.set(key, decision);
    return decision;
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

  #resolve(plane: RoutingSnapshot, { host, port }: Endpoint, written: Endpoint): Resolved {
    const { inbound, source } = this.#request.origin;
    if (this.#request.isResolver?.(written)) return this.#deps.dialer.resolverRoute(plane);
    return resolveRoute(plane, { inbound, source, network: 'udp', host, port, sniffed: undefined });
  }

  /** Drops a packet that would open a flow of a removed account; closes the link when no flow remains. */
  #refuse(): void {
    if (this.#links.size === 0) this.#request.client.close(accountRemoved());
  }

  #open(resolved: Resolved, opener: Endpoint, first: Endpoint): SubLink {
    const { client, endsWithFlows, origin } = this.#request;
    return new SubLink(this.#request, resolved, opener, first, client, {
      ...this.#deps,
      onClose: () => {
        this.#links.delete(resolved.version);
        if (this.#links.size > 0) return;
        if (endsWithFlows === true || origin.standing?.mayWait === false) client.close();
      },
    });
  }
}
