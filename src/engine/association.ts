import { formatEndpoint, type Endpoint } from '../net/address.ts';
import type { Packet, PacketLink } from '../net/link.ts';
import type { PacketRequest } from '../protocols/contract.ts';
import type { OutboundVersion } from './outbound-version.ts';
import { resolveRoute, type Plane, type Resolved } from './plane.ts';
import { SubLink, type PacketDeps } from './sub-link.ts';

/** Decisions kept for peers already seen; beyond it they are made again. */
const KEPT_DECISIONS = 1024;

/**
 * All UDP of one client: each packet is routed, and the packets that go to one outbound share one
 * sub-link, which is a flow. Lives as long as the client's link.
 */
export class Association {
  readonly #request: PacketRequest;
  readonly #deps: PacketDeps;
  readonly #links = new Map<OutboundVersion, SubLink>();
  readonly #decisions = new Map<string, Resolved>();
  #decidedOn: Plane | undefined;

  constructor(request: PacketRequest, deps: PacketDeps) {
    this.#request = request;
    this.#deps = deps;
  }

  /** Carries packets until the client's link closes; never rejects. */
  async run(): Promise<void> {
    const { client } = this.#request;
    try {
      for (;;) {
        const packet = await client.receive();
        if (!packet) break;
        this.#forward(packet);
      }
    } catch (error) {
      this.#deps.log.debug(
        `${this.#request.origin.inbound}: udp association ended: ${String(error)}`,
      );
    } finally {
      for (const link of this.#links.values()) link.close();
      client.close();
    }
  }

  #forward(packet: Packet): void {
    const resolved = this.#decide(packet.peer);
    let link = this.#links.get(resolved.version);
    if (!link) {
      link = this.#open(resolved, packet.peer);
      this.#links.set(resolved.version, link);
    }
    link.send(packet);
  }

  #decide(peer: Endpoint): Resolved {
    const plane = this.#deps.plane();
    if (plane !== this.#decidedOn || this.#decisions.size >= KEPT_DECISIONS) {
      this.#decisions.clear();
      this.#decidedOn = plane;
    }
    const key = formatEndpoint(peer);
    const known = this.#decisions.get(key);
    // A balancer may have moved on, but packets of one peer stay together while their sub-link lives.
    if (known && this.#links.has(known.version)) return known;
    const { inbound, source } = this.#request.origin;
    const resolved = resolveRoute(plane, {
      inbound,
      source,
      network: 'udp',
      host: peer.host,
      port: peer.port,
      sniffed: undefined,
    });
    this.#decisions.set(key, resolved);
    return resolved;
  }

  #open(resolved: Resolved, peer: Endpoint): SubLink {
    const client: PacketLink = this.#request.client;
    return new SubLink(this.#request, resolved, peer, client, {
      ...this.#deps,
      onClose: () => this.#links.delete(resolved.version),
    });
  }
}
