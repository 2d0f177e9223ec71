import {
  canonicalHost,
  type Endpoint,
  formatEndpoint,
  ipVersion,
  shownEndpoint,
} from './addresses/addresses.ts';
import { DialError } from './errors.ts';
import type { DialledSocket, SocketObserver, UdpSocket } from './sockets/sockets.ts';
import { systemSockets } from './sockets/system-sockets.ts';

/** Inbounds of this process that one request may pass through. */
export const MAX_HOPS = 16;

/** The history of a connection that this process has made to one of its own listeners. */
export interface ConnectionChain {
  /** Number of own connections so far, this one included. */
  readonly hops: number;
  /** Whether the first client of the chain is on another host. */
  readonly foreign: boolean;
}

/** The parts of a request's origin that concern its connection. */
export interface DialOrigin {
  /** Tag of the inbound that the request came in by. */
  readonly inbound: string;
  /** The client's IP address; `undefined` on a unix socket. */
  readonly source: string | undefined;
  readonly session: { readonly chain?: ConnectionChain | undefined } | undefined;
  /** Whether the host program has made the request: it came in by no listener, whatever its `inbound`. */
  readonly isLocal?: boolean | undefined;
}

/** The transport of a port: UDP and TCP ports are distinct. */
type PortNetwork = 'tcp' | 'udp';

/** A bound address. */
export interface OwnEndpoint {
  readonly endpoint: Endpoint;
  readonly network: PortNetwork;
}

/** A bound address of an inbound. */
export interface OwnInbound extends OwnEndpoint {
  readonly inbound: string;
}

interface Listener {
  /** The bound address in canonical form. */
  readonly host: string;
  readonly port: number;
  readonly network: PortNetwork;
  /** Tag of the inbound; `undefined` for the API. */
  readonly inbound: string | undefined;
}

/** A connection to an own listener, or a UDP socket that sends to one. */
interface Made {
  readonly socket: DialledSocket;
  readonly network: PortNetwork;
  /** The own address that the socket reaches. */
  readonly host: string;
  readonly port: number;
  readonly chain: ConnectionChain;
  /** The socket's local port, the key in `#made`; 0 until it is known. */
  placedAt: number;
}

/**
 * The listeners of this process, and the connections and UDP sockets by which it reaches them:
 * prevents request loops, and keeps clients from reaching the API through the proxy.
 *
 * A dial of another destination, and a datagram to one, cost one look-up of its port.
 */
export class OwnListeners {
  #inbounds: readonly Listener[] = [];
  #api: Listener | undefined;
  #byPort: Readonly<Record<PortNetwork, ReadonlyMap<number, readonly Listener[]>>> = {
    tcp: new Map(),
    udp: new Map(),
  };
  #changes = 0;
  /** Connections to own listeners by their own port, including those that are connecting. */
  readonly #made: Readonly<Record<PortNetwork, Map<number, Made[]>>> = {
    tcp: new Map(),
    udp: new Map(),
  };
  /** Connections whose port is not known yet: sockets of Node that begin to connect in this turn. */
  readonly #portless = new Set<Made>();

  /** Number of changes of the listeners so far; each one invalidates earlier results. */
  get changes(): number {
    return this.#changes;
  }

  /** Replaces the listeners of the inbounds. */
  setInbounds(listeners: readonly OwnInbound[]): void {
    this.#inbounds = listeners.map(({ inbound, endpoint, network }) => ({
      inbound,
      network,
      host: bareHost(endpoint.host),
      port: endpoint.port,
    }));
    this.#index();
  }

  /** Sets the listener of an API without a secret; `undefined` when there is none. */
  setOpenApi(endpoint: Endpoint | undefined): void {
    this.#api = endpoint && {
      inbound: undefined,
      network: 'tcp',
      host: bareHost(endpoint.host),
      port: endpoint.port,
    };
    this.#index();
  }

  /** Whether any listener has this port; if not, `check` has no effect. */
  hasPort(port: number, network: PortNetwork): boolean {
    return this.#byPort[network].has(port);
  }

  /**
   * Checks a connection to an IP address before it is made, or datagrams before they are sent.
   * @param direct whether the client chose the address; an outbound's server is the operator's choice
   * @returns an observer for the socket; `undefined` when the listener is not one of this process
   * @throws {DialError} `loop` when the connection would enter the inbound that its request came in
   *   by, or has passed `MAX_HOPS` inbounds; `forbidden` when it would bring a client of another
   *   host to an API without a secret
   */
  check(
    to: Endpoint,
    origin: DialOrigin,
    direct: boolean,
    network: PortNetwork = 'tcp',
  ): SocketObserver | undefined {
    const candidates = this.#byPort[network].get(to.port);
    if (!candidates) return undefined;
    const host = reachedHost(to.host);
    const listener = candidates.find((each) => accepts(each.host, host));
    if (!listener) return undefined;
    const { hops: passed, foreign } = chainBefore(origin);
    if (listener.inbound === undefined) {
      if (direct && foreign) {
        throw new DialError(
          'forbidden',
          `${shownEndpoint(to)} is the API of this proxy, which has no secret: only clients of this host may reach it`,
        );
      }
      return undefined;
    }
    if (direct && listener.inbound === origin.inbound && origin.isLocal !== true) {
      throw new DialError(
        'loop',
        `${shownEndpoint(to)} is the inbound that the request came in by`,
      );
    }
    const hops = passed + 1;
    if (hops > MAX_HOPS) {
      throw new DialError('loop', `the request has passed ${MAX_HOPS} inbounds of this proxy`);
    }
    return (socket) =>
      this.#remember({
        socket,
        network,
        host,
        port: to.port,
        chain: { hops, foreign },
        placedAt: 0,
      });
  }

  /**
   * Returns the chain of an accepted connection, or of a client's first datagram; `undefined` when it comes from
   * another process.
   * @param local the address that the client connected to. With UDP it may be unknown, or a wildcard.
   */
  chainOf(
    remote: Endpoint | undefined,
    local: Endpoint | undefined,
    network: PortNetwork = 'tcp',
  ): ConnectionChain | undefined {
    if (!remote) return undefined;
    // The kernel has chosen the port by now, even if the connection has not been reported yet.
    for (const made of this.#portless) this.#place(made);
    const candidates = this.#made[network].get(remote.port);
    if (!candidates) return undefined;
    const from = bareHost(remote.host);
    return candidates.find((made) => {
      const own = made.socket.local;
      if (own === undefined || !reaches(made, local)) return false;
      const host = bareHost(own.host);
      // No other UDP socket of this host can have the port of one that is bound to all addresses.
      return network === 'udp' ? accepts(host, from) : host === from;
    })?.chain;
  }

  #remember(made: Made): void {
    this.#portless.add(made);
    this.#place(made);
    made.socket.onClose(() => this.#forget(made));
  }

  /** Adds a connection to `#made`, as soon as its own port is known. */
  #place(made: Made): void {
    const port = made.socket.local?.port ?? 0;
    if (port === 0) return;
    this.#portless.delete(made);
    made.placedAt = port;
    const byPort = this.#made[made.network];
    const others = byPort.get(port);
    if (others) others.push(made);
    else byPort.set(port, [made]);
  }

  #forget(made: Made): void {
    this.#portless.delete(made);
    const byPort = this.#made[made.network];
    const others = byPort.get(made.placedAt);
    if (!others) return;
    const left = others.filter((other) => other !== made);
    if (left.length > 0) byPort.set(made.placedAt, left);
    else byPort.delete(made.placedAt);
  }

  #index(): void {
    const byPort = { tcp: new Map<number, Listener[]>(), udp: new Map<number, Listener[]>() };
    for (const listener of this.#api ? [...this.#inbounds, this.#api] : this.#inbounds) {
      const ports = byPort[listener.network];
      const known = ports.get(listener.port);
      if (known) known.push(listener);
      else ports.set(listener.port, [listener]);
    }
    this.#byPort = byPort;
    this.#changes++;
  }
}

/**
 * Returns the group of requests that may share a connection: requests accepted from it inherit the chain of the
 * request that it was opened for, which therefore has to be the chain of all.
 */
export function chainGroup(origin: DialOrigin): string {
  const { hops, foreign } = chainBefore(origin);
  return `${foreign ? 'foreign' : 'local'} ${hops}`;
}

/** Returns the chain of the connection that carried a request. */
const chainBefore = ({ session, source }: DialOrigin): ConnectionChain =>
  session?.chain ?? { hops: 0, foreign: !isLocalClient(source) };

/** Whether an own socket reaches the address that a client connected to. */
function reaches({ network, host, port }: Made, local: Endpoint | undefined): boolean {
  if (!local) return network === 'udp';
  return port === local.port && (network === 'udp' || host === bareHost(local.host));
}

/** Whether a client is on this host: on a unix socket or on loopback. */
const isLocalClient = (source: string | undefined): boolean =>
  source === undefined || isLoopback(bareHost(source));

const isLoopback = (host: string): boolean => host === '::1' || host.startsWith('127.');

/** Returns the canonical text of an address, without a zone. */
const bareHost = (host: string): string => canonicalHost(host.split('%', 1)[0] ?? host);

/** Returns the address that a connection reaches: an unspecified address means loopback. */
function reachedHost(host: string): string {
  const bare = bareHost(host);
  if (bare === '0.0.0.0') return '127.0.0.1';
  return bare === '::' ? '::1' : bare;
}

/** Whether a listener on `bound` accepts connections to `host`; a wildcard accepts all addresses of this host. */
function accepts(bound: string, host: string): boolean {
  if (bound === host) return true;
  if (bound !== '::' && !(bound === '0.0.0.0' && ipVersion(host) === 4)) return false;
  return isLoopback(host) || systemSockets().isOwnAddress(host);
}

/** Results cached for peers whose port is that of an own listener; the cache is cleared when it is full. */
const KEPT_RESULTS = 256;

/** Returns a UDP socket as OwnListeners observes it. */
export const dialledUdp = ({
  local,
  closed,
}: Pick<UdpSocket, 'local' | 'closed'>): DialledSocket => ({
  local,
  onClose: (callback) => void closed.then(callback),
});

/**
 * Checks the peers to which a UDP socket sends for a client, as `OwnListeners.check` checks a
 * connection. A datagram to a port without an own listener costs one look-up.
 */
export class OwnPeers {
  readonly #own: OwnListeners;
  readonly #origin: DialOrigin;
  readonly #socket: DialledSocket;
  readonly #onRefused: (error: DialError, peer: Endpoint) => void;
  readonly #results = new Map<string, boolean>();
  /** Ports of own listeners to which the socket has been observed to send. */
  readonly #ports = new Set<number>();
  #foundAt = 0;

  /** @param onRefused called once for each refused peer while its result is cached. */
  constructor(
    own: OwnListeners,
    origin: DialOrigin,
    socket: UdpSocket,
    onRefused: (error: DialError, peer: Endpoint) => void,
  ) {
    this.#own = own;
    this.#origin = origin;
    this.#socket = dialledUdp(socket);
    this.#onRefused = onRefused;
  }

  /** Whether a datagram may be sent to a peer, which is an IP address. */
  allows(peer: Endpoint): boolean {
    if (!this.#own.hasPort(peer.port, 'udp')) return true;
    if (this.#foundAt !== this.#own.changes || this.#results.size >= KEPT_RESULTS) {
      this.#results.clear();
      this.#foundAt = this.#own.changes;
    }
    const key = formatEndpoint(peer);
    const known = this.#results.get(key);
    if (known !== undefined) return known;
    const allowed = this.#check(peer);
    this.#results.set(key, allowed);
    return allowed;
  }

  #check(peer: Endpoint): boolean {
    try {
      const observe = this.#own.check(peer, this.#origin, true, 'udp');
      if (observe && !this.#ports.has(peer.port)) {
        this.#ports.add(peer.port);
        observe(this.#socket);
      }
      return true;
    } catch (error) {
      if (!(error instanceof DialError)) throw error;
      this.#onRefused(error, peer);
      return false;
    }
  }
}
