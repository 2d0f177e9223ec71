import type { KeptObjects } from '../collections/kept-objects.ts';
import type { Endpoint } from '../net/addresses/address.ts';
import type { Clock } from '../net/time/clock.ts';
import type {
  ByteLink,
  Carrier,
  Packet,
  PacketLink,
  ReplyPath,
  WireCounter,
} from '../net/links/link.ts';
import type { DialOrigin, OwnListeners } from '../net/loop-guard/own-listeners.ts';
import type { FamilyPolicy, Resolver } from '../net/addresses/resolver.ts';
import type { Logger } from '../log/logger.ts';
import type { ListenSpec } from '../spec.ts';
import type { Session } from '../tracker/session.ts';
import type { InboundMemory } from './inbounds/inbound-memory.ts';
import type { AcceptedAccounts, Standing } from './users/standing.ts';

/** The client of a request, as every flow that the request causes has it. */
export interface Origin {
  /** Tag of the inbound. */
  readonly inbound: string;
  /** The client's IP address, `undefined` for a unix socket. */
  readonly source: string | undefined;
  /** Label of the user; `undefined` without authentication. */
  readonly user: string | undefined;
  /** The session of the carrier; `undefined` without one (a TUN device). */
  readonly session: Session | undefined;
  /** Asked before each new flow; left out where clients have no accounts (a TUN device). */
  readonly standing?: Standing | undefined;
}

/** A client's request for a byte stream to a destination. */
export interface StreamRequest {
  readonly origin: Origin;
  readonly destination: Endpoint;
  /** Whether the first bytes of flows to an IP address are sniffed. */
  readonly sniff: boolean;
  /** The destination is the proxy's own resolver (`[dns]`): nothing is routed or dialled. */
  readonly toResolver?: boolean;
  /**
   * The client's connection. Until `accept` is called or the request has failed, the dispatcher may
   * read it and puts back what it has read; a failure of it aborts the dial.
   */
  readonly client: ByteLink;
  /**
   * Sends the client the response of success and returns the link of its payload. Called at most
   * once: when the destination is connected, or before that when the route depends on the first
   * bytes. Rejects when the client's connection has failed.
   */
  accept(): Promise<ByteLink>;
}

/** A client's request for an association; each packet has its own destination. */
export interface PacketRequest {
  readonly origin: Origin;
  /** `receive` returns the client's packets, `send` sends responses with their source. */
  readonly client: PacketLink;
  /** Whether packets to a peer are for the proxy's own resolver (`[dns]`); left out for none. */
  readonly isResolver?: (peer: Endpoint) => boolean;
  /**
   * Whether the client's link is closed with the last flow: where nothing but its datagrams shows that
   * a client is there.
   */
  readonly endsWithFlows?: boolean;
}

/** The engine as inbounds use it: the only place where flows are made. */
export interface Dispatcher {
  /**
   * Routes, dials and relays one stream; resolves when the flow is over.
   *
   * @throws {DialError} when the destination was not reached and `accept` was never called, so that
   *   the inbound can send its client the reason; `forbidden` for an account that was removed. After `accept` a failure only destroys the
   *   client's link.
   */
  stream(request: StreamRequest): Promise<void>;
  /**
   * Carries datagrams until the client's link closes. Never rejects. Closes the link of an account
   * that was removed when it has no flow: with a cause when a new one was refused.
   */
  packets(request: PacketRequest): Promise<void>;
}

/** What the handler of an inbound is made with. */
export interface InboundContext {
  readonly tag: string;
  readonly sniffing: boolean;
  /** Whether the listener is a unix socket. */
  readonly unixSocket: boolean;
  readonly dispatcher: Dispatcher;
  /** Shared by successive handlers of the inbound. */
  readonly memory: InboundMemory;
  readonly clock: Clock;
  readonly log: Logger;
}

/**
 * The protocol of an inbound: reads requests from accepted carriers.
 *
 * Listeners, sessions and closing belong to the engine: a handler owns no socket, so it can be
 * replaced while its live carriers continue with the handler that they started with.
 */
export interface InboundHandler {
  /** Those that its clients may have; left out where sessions have no standing. */
  readonly accounts?: AcceptedAccounts;
  /** Serves one carrier until it ends. A rejection is the failure of that carrier alone. */
  serve(carrier: Carrier, session: Session): Promise<void>;
  /**
   * Begins to serve datagrams to the inbound's listen address; called at most once, and only where
   * `InboundProtocol.datagrams` is set.
   */
  serveDatagrams?(sessions: DatagramSessions): DatagramServer;
}

/** Receives the datagrams of all clients of an inbound. */
export interface DatagramServer {
  /**
   * Handles or drops one datagram, whose `peer` is the client that sent it. Never throws.
   *
   * @param known handle it only if it belongs to an existing association: replaced handlers are
   *   offered it in this way before their successor.
   * @returns whether it belongs to an association.
   */
  receive(packet: Packet, replies: ReplyPath, known: boolean): boolean;
  /** Called when the handler is replaced or the inbound ends: no association is opened any more. */
  retire?(): void;
}

/** A client that has no connection accepted for it. */
export interface SessionClient {
  /** Its address; `undefined` where it has none. */
  readonly remote: Endpoint | undefined;
  /** The own address that it sends to, where that is known. */
  readonly local: Endpoint | undefined;
  /** Counts the bytes of its packets, protocol overhead included. */
  readonly wire: WireCounter;
  /** Ends the session, with what the protocol has as a goodbye; called when the proxy stops. */
  readonly destroy: (cause: Error) => void;
}

/** A session in a book; to be closed by its opener. */
export interface OpenSession {
  readonly session: Session;
  /** The client has moved to another address, which is validated. */
  moved(remote: Endpoint): void;
  /** Idempotent. */
  close(): void;
}

/** Opens the session of an authenticated client, one for each association. */
export type DatagramSessions = Pick<SessionBook, 'open'>;

/** The live sessions of one inbound that has them by itself. */
export interface SessionBook {
  /**
   * Opens a session in the tracker. Its first flow names its user, as for a carrier's session.
   *
   * Until it is closed, the inbound is not restarted, and a stop waits for it.
   */
  open(client: SessionClient): OpenSession;
  /**
   * Counts something as live that no session stands for, such as a flow of a device.
   *
   * @param destroy ends it; called when the proxy stops.
   * @returns what ends its counting; idempotent.
   */
  hold(destroy: (cause: Error) => void): () => void;
}

/**
 * The server side of a protocol whose listener owns its sessions: one set of settings, checked and
 * ready, to be bound or to take the place of another.
 */
export interface SessionServer {
  /** Those that its clients may have; left out where sessions have no standing. */
  readonly accounts?: AcceptedAccounts;
  /**
   * Binds; until `serve` no client gets a response and little is kept of what it sends.
   *
   * @throws {BindError} when the address cannot be bound.
   * @throws the reason of `signal`.
   */
  bind(listen: ListenSpec, sessions: SessionBook, signal?: AbortSignal): Promise<SessionListener>;
}

/**
 * What a SessionServer has bound, with the sessions that it has accepted. Checked by
 * `test/conformance/session-listener.ts`.
 */
export interface SessionListener {
  /** As people read it: the bound address with the port that the kernel chose, or a device's name. */
  readonly address: string;
  /** The same as data, also after the release; `undefined` for a device. */
  readonly endpoint: Endpoint | undefined;
  /** Accepts clients from now on. */
  serve(): void;
  /**
   * Clients that come from now on get `next` and are counted in `sessions`; live ones keep the
   * server and the book that they started with. A retired listener that was kept accepts clients
   * again.
   *
   * @param next of the same protocol; `restartReason` found nothing against it, or there are no live
   *   sessions.
   */
  swap(next: SessionServer, sessions: SessionBook): void;
  /**
   * Accepts no new client from now on. Live sessions continue; after the last one everything is
   * released, at once when there is none. Idempotent.
   */
  retire(): void;
  /**
   * Keeps a retired listener although its last session may end, for a `swap` that may follow; `retire`
   * undoes it. Nothing changes for one in service.
   *
   * @returns false when its release has begun.
   */
  keep(): boolean;
  /**
   * Ends the sessions that have no flow: the proxy is stopping, and need not wait for them. Left out
   * where there are none.
   */
  endIdle?(): void;
  /** Ends every session and handshake and releases everything. Idempotent. */
  destroy(cause: Error): void;
  /** Resolves, never rejects, when everything is released: the address may be bound again. */
  readonly closed: Promise<void>;
}

/** Limits of one dial. */
export interface DialOptions {
  /** Aborts the dial; what it has opened is released. */
  readonly signal: AbortSignal;
  /** The client that it is made for; passed on to every dial below. `undefined` for none. */
  readonly origin?: DialOrigin | undefined;
}

/** What an outbound is made with. */
export interface OutboundContext {
  readonly tag: string;
  /** For `freedom` the policy for destinations; for others `dial` applies it. */
  readonly family: FamilyPolicy;
  readonly resolver: Resolver;
  readonly clock: Clock;
  readonly log: Logger;
  /** Checked before a destination is dialled directly. */
  readonly ownListeners: OwnListeners;
  /** What all outbounds of a running proxy share, across reloads, such as tunnels. */
  readonly shared: KeptObjects;
  /** The outbound's own `server` and `port`; `undefined` where the protocol needs none. */
  readonly server: Endpoint | undefined;
  /**
   * Opens a carrier to the outbound's server, through its stream settings and name policy.
   * @throws {DialError} when the server is not reached.
   */
  dial(options: DialOptions): Promise<Carrier>;
}

/** Connects to destinations. Checked by `test/conformance/outbound.ts`. */
export interface Outbound {
  /**
   * Connects to a destination.
   * @throws {DialError} with the code of the reason.
   */
  connect(destination: Endpoint, options: DialOptions): Promise<ByteLink>;
  /**
   * Opens an association for datagrams to any peer.
   * @throws {DialError} `unsupported` where the protocol has no datagrams; the reason of a signal
   *   that has aborted.
   */
  associate(options: DialOptions): Promise<PacketLink>;
  /** Releases what flows share; called after the last flow has ended. */
  close(): void;
  /**
   * What may be wrong when its server ends a flow without a response, in a protocol whose servers do
   * not say so: `a wrong password`. For the log.
   */
  readonly suspect?: string | undefined;
}
