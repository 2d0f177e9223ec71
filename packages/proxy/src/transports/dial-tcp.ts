import type { Socket } from 'node:net';
import type { Endpoint, FamilyPolicy, Resolver } from '@weir/io/addresses';
import type { DialObserver } from '@weir/io';
import type { ByteLink, Carrier, WireCounter } from '@weir/io/links';
import {
  connectAny,
  type ConnectOptions,
  type DatagramUse,
  type SocketObserver,
  systemSockets,
} from '@weir/io/sockets';
import type { Clock } from '@weir/io/time';

interface TcpDialOptions {
  readonly resolver: Resolver;
  readonly family: FamilyPolicy;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Called with each address before it is tried. @throws {DialError} to reject it. */
  readonly preConnect?: PreConnectCheck | undefined;
  /** The address of the requesting client; `undefined` for a server of the configuration. */
  readonly client?: string | undefined;
  readonly observe?: DialObserver | undefined;
  readonly use?: DatagramUse | undefined;
}

/** Opens a TCP connection to one address, in the form that its user needs: a carrier, or a bare socket. */
export interface TcpOpener<Below> {
  connect(address: Endpoint, options: ConnectOptions): Promise<Below>;
  /** Closes a connection that is not needed. */
  discard(below: Below): void;
}

export const CARRIERS: TcpOpener<Carrier> = {
  connect: (address, options) => systemSockets().connect(address, options),
  discard: ({ link }) => link.destroy(),
};

/** For Node's TLS, which runs on sockets of Node. */
export const SOCKETS: TcpOpener<Socket> = {
  connect: (address, options) => systemSockets().connectSocket(address, options),
  discard: (socket) => void socket.destroy(),
};

/**
 * Opens a TCP connection to a host by name or address: resolves it under the family policy and
 * races the addresses (RFC 8305).
 *
 * @throws {DialError} with the code of the failure.
 */
export const dialTcp = (target: Endpoint, options: TcpDialOptions): Promise<Carrier> =>
  dialWith(CARRIERS, target, options);

/** Opens a TCP connection as `dialTcp` does, in another form. */
export async function dialWith<Below>(
  opener: TcpOpener<Below>,
  target: Endpoint,
  { resolver, family, clock, signal, preConnect, client, observe, use }: TcpDialOptions,
): Promise<Below> {
  const addresses = await resolver.resolve(target.host, family, signal, client);
  observe?.('resolved');
  const made = await connectAny(
    addresses,
    (host, attempt) => {
      const address = { host, port: target.port };
      return opener.connect(address, { signal: attempt, onSocket: preConnect?.(address), use });
    },
    { clock, signal, discard: (below) => opener.discard(below) },
  );
  observe?.('connected');
  return made;
}

/** Creates a carrier whose link runs over that of the carrier `below`. */
export const carrierOver = (below: Carrier, link: ByteLink, wire = below.wire): Carrier =>
  new UpperCarrier(below, link, wire);

/** A class, since V8 creates the accessors of an object literal in the old generation. */
class UpperCarrier implements Carrier {
  readonly link: ByteLink;
  readonly wire: WireCounter;
  readonly #below: Carrier;

  constructor(below: Carrier, link: ByteLink, wire: WireCounter) {
    this.link = link;
    this.wire = wire;
    this.#below = below;
  }

  get remote(): Endpoint | undefined {
    return this.#below.remote;
  }

  /** Read on demand: it may cost a system call, which most carriers never need. */
  get local(): Endpoint | undefined {
    return this.#below.local;
  }
}

/** Called with each IP address before a connection to it is attempted. @throws {DialError} to reject the address. */
export type PreConnectCheck = (address: Endpoint) => SocketObserver | undefined;

/** Options of a dial, independent of the carrier. */
export interface DialerOptions {
  readonly signal: AbortSignal;
  /** Called with each address before it is tried; for a shared connection, for that of its first tunnel only. */
  readonly preConnect?: PreConnectCheck | undefined;
  /** Dials share connections only with dials of the same group; by default all belong to one group. */
  readonly group?: string | undefined;
  readonly observe?: DialObserver | undefined;
  /** The use of the carrier for datagrams, if any: it then ends soon after the path to the server has failed. */
  readonly use?: DatagramUse | undefined;
}

/** Opens carriers to one server, by the stream settings of one outbound. */
export interface Dialer {
  /** @throws {DialError} if the server is unreachable, fails authentication or violates a protocol. */
  dial(options: DialerOptions): Promise<Carrier>;
  /** Closes the shared connections, and with them their carriers. */
  close(): void;
}
