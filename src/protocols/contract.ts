import type { Endpoint } from '../net/address.ts';
import type { Clock } from '../net/clock.ts';
import type { ByteLink, Carrier, Packet, PacketLink, WireCounter } from '../net/link.ts';
import type { DialOrigin, OwnListeners } from '../net/own-listeners.ts';
import type { FamilyPolicy, Resolver } from '../net/resolver.ts';
import type { Logger } from '../log/logger.ts';
import type { Session } from '../tracker/session.ts';
import type { InboundMemory } from './inbound-memory.ts';

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
   * The link by which the client would leave. Until `accept` is called or the request has failed it
   * is the dispatcher's to read, which gives back what came; a failure of it ends the dial.
   */
  readonly client: ByteLink;
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
  /** Shared with the handlers before and after it. */
  readonly memory: InboundMemory;
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
  /**
   * Begins to serve datagrams that reach the inbound's listen address; called at most once. Only
   * protocols that say so in `InboundProtocol.datagrams` have it.
   */
  serveDatagrams?(sessions: DatagramSessions): DatagramServer;
}

/** Where a handler that serves datagrams opens the sessions of its clients. */
export interface DatagramSessions {
  /**
   * Opens the session of a client that was let in: one for each association.
   * @param wire counts the client's datagrams, protocol overhead included.
   * @param destroy ends the association; called when the proxy stops.
   */
  open(source: string, wire: WireCounter, destroy: (cause: Error) => void): DatagramSession;
}

/** The session of a client's association. Whoever opened it closes it. */
export interface DatagramSession {
  readonly session: Session;
  close(): void;
}

/** The way back to clients: ends with the socket that their datagrams came by. */
export type ReplyPath = Pick<PacketLink, 'send' | 'closed'>;

/** Takes the datagrams of all clients of an inbound. */
export interface DatagramServer {
  /**
   * Takes one datagram, whose `peer` is the client that sent it, or forgets it. Never throws.
   *
   * @param known take it only when it belongs to an association that there is already: so are
   *   handlers asked that have been replaced, before their successor is.
   * @returns whether it belongs to an association.
   */
  receive(packet: Packet, answers: ReplyPath, known: boolean): boolean;
}

/** Limits of one dial. */
export interface DialOptions {
  /** Aborts the dial; what was opened so far is released. */
  readonly signal: AbortSignal;
  /** For whom it is made; handed on to every dial below. `undefined` when for no client. */
  readonly origin?: DialOrigin | undefined;
}

/** What an outbound is built with. */
export interface OutboundContext {
  readonly tag: string;
  /** For `freedom` the policy for destinations; for others it is already part of `dial`. */
  readonly family: FamilyPolicy;
  readonly resolver: Resolver;
  readonly clock: Clock;
  readonly log: Logger;
  /** Consulted before a destination is dialled directly. */
  readonly ownListeners: OwnListeners;
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
