import { networkInterfaces } from 'node:os';
import { canonicalHost, formatEndpoint, ipVersion, unmapIPv4, type Endpoint } from './address.ts';
import { DialError } from './errors.ts';
import type { DialledSocket, SocketObserver } from './sockets.ts';

/** Inbounds of this process that one connection may pass through. */
export const MAX_HOPS = 16;

/** The history of a connection that this process has made to one of its own listeners. */
export interface Lineage {
  /** Own connections so far, this one included. */
  readonly hops: number;
  /** Whether the client at the beginning is on another host. */
  readonly foreign: boolean;
}

/** The parts of a request's origin that concern its connection. */
export interface DialOrigin {
  /** Tag of the inbound. */
  readonly inbound: string;
  /** The client's IP address; `undefined` on a unix socket. */
  readonly source: string | undefined;
  readonly session: { readonly lineage?: Lineage | undefined } | undefined;
}

/** The bound endpoint of an inbound. */
export interface InboundListener {
  readonly inbound: string;
  readonly endpoint: Endpoint;
}

interface Listener {
  /** In canonical form. */
  readonly host: string;
  readonly port: number;
  /** `undefined` for the API. */
  readonly inbound: string | undefined;
}

/**
 * The TCP listeners of this process, and the connections that it makes to them: prevents request
 * loops and clients that reach the API with the address of the proxy.
 *
 * A dial of another destination costs one look-up of its port.
 */
export class OwnListeners {
  #inbounds: readonly Listener[] = [];
  #api: Listener | undefined;
  #byPort: ReadonlyMap<number, readonly Listener[]> = new Map();
  /** Connections to own listeners, including those that are connecting. */
  readonly #made = new Set<{
    readonly socket: DialledSocket;
    readonly to: string;
    readonly lineage: Lineage;
  }>();

  /** Replaces the listeners of the inbounds. */
  setInbounds(listeners: readonly InboundListener[]): void {
    this.#inbounds = listeners.map(({ inbound, endpoint }) => ({
      inbound,
      host: bareHost(endpoint.host),
      port: endpoint.port,
    }));
    this.#index();
  }

  /** Sets the listener of an API without a secret; `undefined` when there is none. */
  setOpenApi(endpoint: Endpoint | undefined): void {
    this.#api = endpoint && {
      inbound: undefined,
      host: bareHost(endpoint.host),
      port: endpoint.port,
    };
    this.#index();
  }

  /**
   * Checks a connection to an IP address before it is made.
   *
   * @param direct whether the client chose the address; an outbound's server is the operator's choice
   * @returns an observer for the socket; `undefined` when the listener is not one of this process
   * @throws {DialError} `loop` when the connection would enter the inbound that its request came in
   *   by, or has passed `MAX_HOPS` inbounds; `forbidden` when it would bring a client of another
   *   host to an API without a secret
   */
  approach(to: Endpoint, origin: DialOrigin, direct: boolean): SocketObserver | undefined {
    const candidates = this.#byPort.get(to.port);
    if (!candidates) return undefined;
    const host = reachedHost(to.host);
    const listener = candidates.find((each) => accepts(each.host, host));
    if (!listener) return undefined;
    const { hops: passed, foreign } = lineageBefore(origin);
    if (listener.inbound === undefined) {
      if (direct && foreign) {
        throw new DialError(
          'forbidden',
          `${formatEndpoint(to)} is the API of this proxy, which has no secret: only clients of this host may reach it`,
        );
      }
      return undefined;
    }
    if (direct && listener.inbound === origin.inbound) {
      throw new DialError(
        'loop',
        `${formatEndpoint(to)} is the inbound that the request came in by`,
      );
    }
    const hops = passed + 1;
    if (hops > MAX_HOPS) {
      throw new DialError('loop', `the request has passed ${MAX_HOPS} inbounds of this proxy`);
    }
    const end = formatEndpoint({ host, port: to.port });
    return (socket) => this.#remember(socket, end, { hops, foreign });
  }

  /** The lineage of an accepted connection; `undefined` when another process has made it. */
  lineageOf(remote: Endpoint | undefined, local: Endpoint | undefined): Lineage | undefined {
    if (this.#made.size === 0 || !remote || !local) return undefined;
    const to = formatEndpoint({ host: bareHost(local.host), port: local.port });
    const from = bareHost(remote.host);
    for (const made of this.#made) {
      if (made.to !== to) continue;
      // The kernel has chosen the port by now, even where the connection has yet to be reported.
      const { local: own } = made.socket;
      if (own && own.port === remote.port && bareHost(own.host) === from) return made.lineage;
    }
    return undefined;
  }

  #remember(socket: DialledSocket, to: string, lineage: Lineage): void {
    const made = { socket, to, lineage };
    this.#made.add(made);
    socket.onClose(() => this.#made.delete(made));
  }

  #index(): void {
    const byPort = new Map<number, Listener[]>();
    for (const listener of this.#api ? [...this.#inbounds, this.#api] : this.#inbounds) {
      const known = byPort.get(listener.port);
      if (known) known.push(listener);
      else byPort.set(listener.port, [listener]);
    }
    this.#byPort = byPort;
  }
}

/**
 * The group of requests that may share a connection: what is accepted from a shared connection
 * inherits the lineage of the request that it was made for, so that must be the lineage of all.
 */
export function lineageGroup(origin: DialOrigin): string {
  const { hops, foreign } = lineageBefore(origin);
  return `${foreign ? 'foreign' : 'local'} ${hops}`;
}

/** The lineage of the connection that a request came in by. */
const lineageBefore = ({ session, source }: DialOrigin): Lineage =>
  session?.lineage ?? { hops: 0, foreign: !isLocalClient(source) };

/** A client of this host: on a unix socket or on loopback. */
const isLocalClient = (source: string | undefined): boolean =>
  source === undefined || isLoopback(bareHost(source));

const isLoopback = (host: string): boolean => host === '::1' || host.startsWith('127.');

/** The canonical text of an address, without a zone. */
const bareHost = (host: string): string => canonicalHost(host.split('%', 1)[0] ?? host);

/** The address that a connection reaches: an unspecified address means loopback. */
function reachedHost(host: string): string {
  const bare = bareHost(host);
  if (bare === '0.0.0.0') return '127.0.0.1';
  return bare === '::' ? '::1' : bare;
}

/** Whether a listener on `bound` accepts connections to `host`; a wildcard accepts all of this host. */
function accepts(bound: string, host: string): boolean {
  if (bound === host) return true;
  if (bound !== '::' && !(bound === '0.0.0.0' && ipVersion(host) === 4)) return false;
  return isLoopback(host) || isAddressOfThisHost(host);
}

const isAddressOfThisHost = (host: string): boolean =>
  Object.values(networkInterfaces()).some((addresses) =>
    addresses?.some(({ address }) => unmapIPv4(bareHost(address)) === host),
  );
