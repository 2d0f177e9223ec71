import type { SocketOptions, WeirSocket } from './socket.ts';

/** The route and the record of flows that the host program opens. */
export interface WeirDialOptions {
  /** The tag of an outbound or balancer. Without it the `route` hook and the rules decide. */
  readonly outbound?: string | undefined;
  /** The user of the flow in records. */
  readonly user?: string | undefined;
  /** The inbound of the flow in records and for rules; `library` by default. */
  readonly inbound?: string | undefined;
}

/** A destination, and how it is reached. */
export interface WeirConnectOptions extends WeirDialOptions, SocketOptions {
  /** A host name or an IP address. Names are resolved where the outbound does. */
  readonly host: string;
  readonly port: number;
  /** Abandons the connect, which then rejects with the reason of the signal; without effect on an open stream. */
  readonly signal?: AbortSignal | undefined;
}

export interface WeirAssociateOptions extends WeirDialOptions {
  /** Closes the association. */
  readonly signal?: AbortSignal | undefined;
}

/** A stream with what its flow was opened on. */
export interface Dialled {
  readonly socket: WeirSocket;
  /** Whether new flows would no longer be routed to the same outbound in the same version. */
  isStale(): boolean;
}

/** Opens streams, for agents and dispatchers. */
export interface OpensStreams {
  connect(options: WeirConnectOptions): Promise<Dialled>;
}
