import type { Endpoint } from '../net/address.ts';
import type { Clock } from '../net/clock.ts';
import type { ByteLink, Carrier, PacketLink } from '../net/link.ts';
import type { FamilyPolicy, Resolver } from '../net/resolver.ts';
import type { Logger } from '../log/logger.ts';
import type { Session } from '../tracker/session.ts';

/** Who asks: the parts of a request that every flow it causes carries along. */
export interface Origin {
  /** Tag of the inbound. */
  readonly inbound: string;
  /** The client's IP address, `undefined` for a unix socket. */
  readonly source: string | undefined;
  /** Label of the authenticated user; `undefined` for nobody. */
  readonly user: string | undefined;
  /** The carrying session; `undefined` where there is none (a TUN device). */
  readonly session: Session | undefined;
}

/** A client that wants a byte stream to a destination. */
export interface StreamRequest {
  readonly origin: Origin;
  readonly destination: Endpoint;
  /** Whether the inbound wants the first bytes of flows to a plain IP inspected. */
  readonly sniff: boolean;
  /**
   * Tells the client that it is connected and hands over the link of its payload. Called at most
   * once: when the destination is connected, or before that when the route depends on the first
   * bytes. May reject, when the client is gone.
   */
  accept(): Promise<ByteLink>;
}

/** A client that wants datagrams carried; each packet names its own destination. */
export interface PacketRequest {
  readonly origin: Origin;
  /** `receive` gives the client's packets, `send` returns answers with their source. */
  readonly client: PacketLink;
}

/** What inbounds may ask of the engine. It is the only place where flows are made. */
export interface Dispatcher {
  /**
   * Routes, dials and relays one stream; resolves when the flow is over.
   *
   * @throws {DialError} when the destination was not reached and `accept` was never called, so that
   *   the inbound can tell its client why. Once accepted, failures only end the client's link.
   */
  stream(request: StreamRequest): Promise<void>;
  /** Carries datagrams until the client's link closes. Never rejects. */
  packets(request: PacketRequest): Promise<void>;
}

/** What the handler of an inbound is built with. */
export interface InboundContext {
  readonly tag: string;
  readonly sniffing: boolean;
  /** Whether the listener is a unix socket. */
  readonly unixSocket: boolean;
  readonly dispatcher: Dispatcher;
  readonly clock: Clock;
  readonly log: Logger;
}

/**
 * The protocol of an inbound: turns one accepted carrier into requests.
 *
 * Listening, sessions and closing are the engine's: a handler owns no socket and no listener, so it
 * can be swapped while its live carriers go on with the one that they started with.
 */
export interface InboundHandler {
  /** Serves one carrier to its end. A rejection is the failure of that carrier alone. */
  serve(carrier: Carrier, session: Session): Promise<void>;
}

/** Limits of one dial. */
export interface DialOptions {
  /** Aborts the dial; what was opened so far is released. */
  readonly signal: AbortSignal;
}

/** What an outbound is built with. */
export interface OutboundContext {
  readonly tag: string;
  /** For `freedom` the policy for destinations; for others it is already part of `dial`. */
  readonly family: FamilyPolicy;
  readonly resolver: Resolver;
  readonly clock: Clock;
  readonly log: Logger;
  /** The outbound's own `server` and `port`; `undefined` where the protocol needs none. */
  readonly server: Endpoint | undefined;
  /**
   * Opens a carrier to the outbound's server, through its stream settings and name policy.
   * @throws {DialError} when the server is not reached.
   */
  dial(options: DialOptions): Promise<Carrier>;
}

/** A way out. Knows nothing of routing or flows; checked by `test/conformance/outbound.ts`. */
export interface Outbound {
  /**
   * Connects to a destination.
   * @throws {DialError} with the code that tells why it could not.
   */
  connect(destination: Endpoint, options: DialOptions): Promise<ByteLink>;
  /**
   * Opens a way for datagrams to any peer.
   * @throws {DialError} `unsupported` where the protocol carries none.
   */
  associate(options: DialOptions): Promise<PacketLink>;
  /** Releases what flows share, once the last flow has ended. */
  close(): void;
}
