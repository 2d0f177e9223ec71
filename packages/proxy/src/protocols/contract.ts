import type { KeptObjects } from '@weir/base/collections';
import type { Endpoint, FamilyPolicy, Resolver } from '@weir/io/addresses';
import type { DialError, DialObserver, ServerReach } from '@weir/io';
import type { Clock } from '@weir/io/time';
import type { ByteLink, Carrier, Packet, PacketLink, ReplyPath, WireCounter } from '@weir/io/links';
import type { DialOrigin, OwnListeners } from '@weir/io/net/own-listeners';
import type { DatagramUse } from '@weir/io/sockets';
import type { PacketTaps } from '@weir/base/ip/packet-device';
import type { Logger } from '@weir/base/log';
import type { ListenSpec } from '../spec.ts';
import type { Flow, Session } from '../tracker/flow.ts';
import type { Hooks } from './hooks.ts';
import type { InboundMemory } from './inbounds/inbound-memory.ts';
import type { AcceptedAccounts, AccountValidity } from './users/accounts.ts';

/** The client of a request, and of every flow that the request opens. */
export interface Origin {
  /** Tag of the inbound. */
  readonly inbound: string;
  /** The client's IP address, `undefined` for a unix socket. */
  readonly source: string | undefined;
  /** Label of the user; `undefined` without authentication. */
  readonly user: string | undefined;
  /** The session of the carrier; `undefined` without one (a TUN device). */
  readonly session: Session | undefined;
  /** The client's account, checked before each new flow; `undefined` if clients have none (a TUN device). */
  readonly account?: AccountValidity | undefined;
  /** Whether the host program is the client; its flows come in by no listener. */
  readonly isLocal?: boolean | undefined;
}

/** A client's request for a byte stream to a destination. */
export interface StreamRequest {
  readonly origin: Origin;
  readonly destination: Endpoint;
  /** Whether the first bytes of flows to an IP address are sniffed. */
  readonly sniff: boolean;
  /** Whether the destination is the proxy's own resolver (`[dns]`): nothing is routed or dialled. */
  readonly toResolver?: boolean;
  /** The tag of the outbound or balancer that the client has chosen; the rules decide without it. */
  readonly via?: string | undefined;
  /** Aborts the routing and the dial. After `accept` it has no effect. */
  readonly signal?: AbortSignal | undefined;
  /** Called when the flow has been registered, after `accept`. */
  readonly onFlow?: (flow: Flow) => void;
  /**
   * The client's connection. Until `accept` is called or the request has failed, the dispatcher may read from
   * it and unread the bytes; its failure aborts the dial.
   */
  readonly client: ByteLink;
  /**
   * Sends the client the success response and returns the link of its payload. Called at most once: when the
   * destination is connected, or earlier if the route depends on the first bytes. Rejects when the
   * client's connection has failed.
   */
  accept(): Promise<ByteLink>;
}

/** A client's request for an association; each packet has its own destination. */
export interface PacketRequest {
  readonly origin: Origin;
  /** The client's link: `receive` returns its packets; `send` sends packets to it, with their source as the peer. */
  readonly client: PacketLink;
  /** Whether packets to a peer are for the proxy's own resolver (`[dns]`); none by default. */
  readonly isResolver?: (peer: Endpoint) => boolean;
  /** Whether the client's link is closed with the last flow: set if only datagrams show that the client is alive. */
  readonly endsWithFlows?: boolean;
  /** The tag of the outbound or balancer that the client has chosen; the rules decide without it. */
  readonly via?: string | undefined;
  /** Called when packets to a peer were dropped because no outbound could be opened for them. */
  readonly onFailure?: (peer: Endpoint, error: DialError) => void;
}

/** The engine, as seen by inbounds. Only the engine opens flows. */
export interface Dispatcher {
  /**
   * Routes, dials and relays one stream; resolves when the flow has ended.
   *
   * @throws {DialError} when the destination was not reached and `accept` was not called, so that the inbound
   *   can send its client the reason; `forbidden` for an account that was removed. After `accept` a failure
   *   only destroys the client's link.
   */
  stream(request: StreamRequest): Promise<void>;
  /**
   * Relays datagrams until the client's link closes. Never rejects. If the account is removed, closes the link
   * after its last flow; with a cause if a new flow was refused.
   */
  packets(request: PacketRequest): Promise<void>;
}

/** The context of the handler of an inbound. */
export interface InboundContext {
  readonly tag: string;
  readonly sniffing: boolean;
  /** Whether the listener is a unix socket. */
  readonly unixSocket: boolean;
  readonly dispatcher: Dispatcher;
  /** State that successive handlers of the inbound share. */
  readonly memory: InboundMemory;
  readonly clock: Clock;
  readonly log: Logger;
  /** Captures the packets of a device, if the inbound has one. */
  readonly capture?: PacketTaps | undefined;
  /** The hooks of the host program; inbounds use `authorize`. */
  readonly hooks?: Hooks | undefined;
}

/**
 * The protocol of an inbound: reads requests from accepted carriers.
 *
 * The engine owns listeners and sessions: a handler owns no socket, so that it can be replaced while live carriers
 * continue with the handler that they started with. Checked by `packages/proxy/test/conformance/inbound.ts`.
 */
export interface InboundHandler {
  /** The accounts of the inbound's clients; `undefined` if clients have none. */
  readonly accounts?: AcceptedAccounts;
  /** Serves one carrier until it ends. A rejection is a failure of this carrier only. */
  serve(carrier: Carrier, session: Session): Promise<void>;
  /**
   * Starts serving datagrams to the inbound's listen address. Called at most once, and only if
   * `CarrierProtocol.datagrams` is set.
   */
  serveDatagrams?(sessions: DatagramSessions): DatagramServer;
}

/** Receives the datagrams of all clients of an inbound. */
export interface DatagramServer {
  /**
   * Handles or drops one datagram, whose `peer` is the client that sent it. Never throws.
   *
   * @param known handle the datagram only if it belongs to an existing association: replaced handlers are called in
   * this way before the current one
   * @returns whether the datagram belongs to an association
   */
  receive(packet: Packet, replies: ReplyPath, known: boolean): boolean;
  /** Called when the handler is replaced or the inbound ends: no more associations may be opened. */
  retire?(): void;
}

/** A client without an accepted connection: of a UDP port, or of a device. */
export interface SessionClient {
  /** The client's address; `undefined` if it has none. */
  readonly remote: Endpoint | undefined;
  /** The local address that the client sends to, if known. */
  readonly local: Endpoint | undefined;
  /** Counts the bytes of the client's packets, protocol overhead included. */
  readonly wire: WireCounter;
  /** Ends the session, with a closing message if the protocol has one; called when the proxy stops. */
  readonly destroy: (cause: Error) => void;
}

/** A session in a `SessionRegistry`, closed by its opener. */
export interface OpenSession {
  readonly session: Session;
  /** Called when the client has moved to another address, which has been validated. */
  moved(remote: Endpoint): void;
  /** Closes the session. Idempotent. */
  close(): void;
}

/** Opens the session of an authenticated client, one for each association. */
export type DatagramSessions = Pick<SessionRegistry, 'open'>;

/** The live sessions of an inbound whose protocol opens them itself. */
export interface SessionRegistry {
  /**
   * Opens a session in the tracker. Its first flow sets its user, as for the session of a carrier.
   *
   * Until the session is closed, the inbound is not restarted, and a stop waits for it.
   */
  open(client: SessionClient): OpenSession;
  /**
   * Counts an activity without a session as live, such as a flow of a device.
   *
   * @param destroy ends the activity; called when the proxy stops
   * @returns a function that removes the activity from the count; idempotent
   */
  hold(destroy: (cause: Error) => void): () => void;
}

/**
 * The server side of a protocol whose listener owns its sessions, built from one set of settings: it can be bound, or
 * replace a bound one.
 */
export interface SessionServer {
  /** The accounts of the server's clients; `undefined` if clients have none. */
  readonly accounts?: AcceptedAccounts;
  /**
   * Binds the listener. Until `serve`, clients get no response, and little of their data is kept.
   *
   * @throws {BindError} when the address cannot be bound
   * @throws the reason of `signal`
   */
  bind(
    listen: ListenSpec,
    sessions: SessionRegistry,
    signal?: AbortSignal,
  ): Promise<SessionListener>;
}

/**
 * A bound SessionServer and its sessions. Checked by `packages/proxy/test/conformance/session-listener.ts`.
 */
export interface SessionListener {
  /** The bound address with its actual port, or the name of the device, for log lines. */
  readonly address: string;
  /** The bound address, also after its release; `undefined` for a device. */
  readonly endpoint: Endpoint | undefined;
  /** Accepts clients from now on. */
  serve(): void;
  /**
   * Serves new clients by `next` and registers them in `sessions`; live sessions keep the server and the registry
   * that they started with. A retired listener that was kept accepts clients again.
   *
   * @param next a server of the same protocol; `restartReason` is `undefined`, or there are no live sessions
   */
  swap(next: SessionServer, sessions: SessionRegistry): void;
  /**
   * Accepts no more clients. Live sessions continue; after the last one, or at once if there is none,
   * the listener is released. Idempotent.
   */
  retire(): void;
  /**
   * Prevents the release of a retired listener after its last session, since a `swap` may follow; `retire`
   * undoes that. No effect on a listener in service.
   *
   * @returns false when the release has begun
   */
  keep(): boolean;
  /**
   * Ends sessions without a flow: the proxy is stopping and does not wait for them. `undefined` if every session is a
   * flow.
   */
  endIdle?(): void;
  /** Ends every session and handshake and releases everything. Idempotent. */
  destroy(cause: Error): void;
  /** Resolves when everything is released and the address can be bound again. Never rejects. */
  readonly closed: Promise<void>;
}

/** Options of one dial. */
export interface DialOptions {
  /** Aborts the dial, which then releases everything that it has opened. */
  readonly signal: AbortSignal;
  /** The client, passed on to every dial below; `undefined` for a dial by the proxy itself. */
  readonly origin?: DialOrigin | undefined;
  /** Observes the steps of a measured dial; passed on to every dial below. */
  readonly observe?: DialObserver | undefined;
  /**
   * Tracks whether the server was reached, for dials that may continue by another outbound; passed on to every dial
   * below.
   */
  readonly reach?: ServerReach | undefined;
  /** The purpose of a carrier of datagrams, set by an outbound. */
  readonly use?: DatagramUse | undefined;
}

export interface AssociateOptions extends DialOptions {
  /**
   * The peer of the first datagram, if one is queued: a protocol with a stream for each peer opens that stream, so that
   * the association fails if the server is not reached.
   */
  readonly first?: Endpoint | undefined;
}

/** The context of an outbound. */
export interface OutboundContext {
  readonly tag: string;
  /**
   * The address family policy: for `freedom` that for destinations; for other protocols `dial` applies it to the
   * server.
   */
  readonly family: FamilyPolicy;
  readonly resolver: Resolver;
  readonly clock: Clock;
  readonly log: Logger;
  /** The listeners of this process, checked before a destination is dialled directly. */
  readonly ownListeners: OwnListeners;
  /** Objects that all outbounds of a running proxy share, across reloads, such as tunnels. */
  readonly shared: KeptObjects;
  /** Aborts when the proxy has stopped: data still queued for flows that have ended is discarded. */
  readonly stopped?: AbortSignal | undefined;
  /** The outbound's own `server` and `port`; `undefined` if the protocol needs none. */
  readonly server: Endpoint | undefined;
  /**
   * Opens a carrier to the outbound's server, through its stream settings and name policy.
   * @throws {DialError} when the server is not reached.
   */
  dial(options: DialOptions): Promise<Carrier>;
}

/** Connects to destinations. Checked by `packages/server/test/conformance/outbound.ts` and `outbound-pair.ts`. */
export interface Outbound {
  /**
   * Connects to a destination.
   * @throws {DialError}
   */
  connect(destination: Endpoint, options: DialOptions): Promise<ByteLink>;
  /**
   * Opens an association for datagrams to any peer.
   * @throws {DialError} `unsupported` if the protocol has no datagrams
   * @throws the reason of `signal`
   */
  associate(options: AssociateOptions): Promise<PacketLink>;
  /**
   * Releases shared resources; called after the last flow has ended. Data written before a half-close is still sent,
   * within time limits.
   */
  close(): void;
  /**
   * The probable cause when the server ends a flow without a response, for protocols whose servers do not
   * report it: `a wrong password`. For the log.
   */
  readonly suspect?: string | undefined;
}
