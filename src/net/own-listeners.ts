import type { Socket } from 'node:net';
import { networkInterfaces } from 'node:os';
import { canonicalHost, formatEndpoint, ipVersion, unmapIPv4, type Endpoint } from './address.ts';
import { DialError } from './errors.ts';

/** Inbounds of this process that one connection may pass through. */
export const MAX_HOPS = 16;

/** What is inherited by a connection that this process has made to one of its own listeners. */
export interface Lineage {
  /** Own connections so far, this one included. */
  readonly hops: number;
  /** Whether the client at the beginning is on another host. */
  readonly foreign: boolean;
}

/** For whom a connection is made: what a request's origin says of it. */
export interface DialOrigin {
  /** Tag of the inbound. */
  readonly inbound: string;
  /** The client's IP address; `undefined` on a unix socket. */
  readonly source: string | undefined;
  readonly session: { readonly lineage?: Lineage | undefined } | undefined;
}

/** A listener of an inbound, where it is bound. */
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

/** Takes a socket whose connection has just been asked for. */
export type SocketObserver = (socket: Socket) => void;

/**
 * The TCP listeners of this process, and the connections that it makes to them, so that no request
 * circles and no client reaches the API under the address of the proxy.
 *
 * A dial elsewhere costs one look-up of its port.
 */
export class OwnListeners {
  #inbounds: readonly Listener[] = [];
  #api: Listener | undefined;
  #byPort: ReadonlyMap<number, readonly Listener[]> = new Map();
  /** Connections to own listeners, the ones under way included. */
  readonly #made = new Set<{
    readonly socket: Socket;
    readonly to: string;
    readonly lineage: Lineage;
  }>();

  /** Takes the place of what was known of the inbounds. */
  setInbounds(listeners: readonly InboundListener[]): void {
    this.#inbounds = listeners.map(({ inbound, endpoint }) => ({
      inbound,
      host: bareHost(endpoint.host),
      port: endpoint.port,
    }));
    this.#index();
  }

  /** Where the API can be reached without a secret; `undefined` when it cannot. */
  setOpenApi(endpoint: Endpoint | undefined): void {
    this.#api = endpoint && {
      inbound: undefined,
      host: bareHost(endpoint.host),
      port: endpoint.port,
    };
    this.#index();
  }

  /**
   * Judges a connection to an IP address that is about to be made.
   *
   * @param direct whether the client chose the address; an outbound's server is the operator's choice
   * @returns what to show the socket to; `undefined` when the listener is not one of this process
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

  /** What an accepted connection inherits; `undefined` when another process has made it. */
  lineageOf(remote: Endpoint | undefined, local: Endpoint | undefined): Lineage | undefined {
    if (this.#made.size === 0 || !remote || !local) return undefined;
    const to = formatEndpoint({ host: bareHost(local.host), port: local.port });
    const from = bareHost(remote.host);
    for (const made of this.#made) {
      // The kernel has chosen the port by now, even if Node has yet to report the connection.
      if (made.to !== to || made.socket.localPort !== remote.port) continue;
      if (bareHost(made.socket.localAddress ?? '') === from) return made.lineage;
    }
    return undefined;
  }

  #remember(socket: Socket, to: string, lineage: Lineage): void {
    const made = { socket, to, lineage };
    this.#made.add(made);
    socket.once('close', () => this.#made.delete(made));
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

/** The one text of an address, without a zone. */
const bareHost = (host: string): string => canonicalHost(host.split('%', 1)[0] ?? host);

/** Where a connection to an address arrives: that to an unspecified address on loopback. */
function reachedHost(host: string): string {
  const bare = bareHost(host);
  if (bare === '0.0.0.0') return '127.0.0.1';
  return bare === '::' ? '::1' : bare;
}

/** Whether a listener on `bound` takes connections to `host`; a wildcard takes all of this host. */
function accepts(bound: string, host: string): boolean {
  if (bound === host) return true;
  if (bound !== '::' && !(bound === '0.0.0.0' && ipVersion(host) === 4)) return false;
  return isLoopback(host) || isAddressOfThisHost(host);
}

const isAddressOfThisHost = (host: string): boolean =>
  Object.values(networkInterfaces()).some((addresses) =>
    addresses?.some(({ address }) => unmapIPv4(bareHost(address)) === host),
  );
