import { Agent as HttpAgent } from 'node:http';
import {
  Agent as HttpsAgent,
  type AgentOptions as HttpsAgentOptions,
  type RequestOptions,
} from 'node:https';
import type { Duplex } from 'node:stream';
import { TLSSocket } from 'node:tls';
import { asError } from '@weir/base';
import type { Dialled, OpensStreams, WeirDialOptions } from './dial.ts';
import type { KeepsIdle, Renewals } from './renewals.ts';
import type { WeirSocket } from './socket.ts';

/** The route of an agent's connections, and the options of `https.Agent`; `keepAlive` is true by default. */
export interface AgentOptions extends WeirDialOptions, HttpsAgentOptions {}

/** Agents for `node:http` and `node:https`, whose connections are flows of a running proxy. */
export interface WeirAgents {
  /** For `http.request`, and requests with `ws:` of WebSocket libraries. */
  readonly http: HttpAgent;
  /** For `https.request` and `wss:`. The client verifies the destination's certificate, as without a proxy. */
  readonly https: HttpsAgent;
  /** Closes all connections of both. */
  destroy(): void;
}

/** Called with the stream of a new connection, as by `Agent.createConnection`. */
type OnCreated = (error: Error | null, stream: Duplex) => void;

/** A stream of HTTP. */
type WithTimeout = Duplex & { setTimeout(milliseconds: number): unknown };

/** The connections of one agent, with the flows below. */
class Connections {
  readonly #dialer: OpensStreams;
  readonly #route: WeirDialOptions;
  readonly #dialled = new WeakMap<Duplex, Dialled>();

  constructor(dialer: OpensStreams, { outbound, user, inbound }: WeirDialOptions) {
    this.#dialer = dialer;
    this.#route = { outbound, user, inbound };
  }

  /**
   * Opens a connection.
   * @param wrap returns the stream of HTTP on that of the flow
   */
  open(
    { host, port, timeout, socketPath }: RequestOptions,
    wrap: (socket: WeirSocket) => WithTimeout,
    onCreated: OnCreated | undefined,
  ): void {
    const target = { host: host ?? 'localhost', port: Number(port), allowHalfOpen: false };
    const dial = socketPath
      ? Promise.reject(new TypeError('this agent connects to hosts, not to a socketPath'))
      : this.#dialer.connect({ ...this.#route, ...target });
    dial
      .then((dialled) => {
        const stream = wrap(dialled.socket);
        // As net.connect does: Node relies on it for the `timeout` of an agent.
        if (timeout) stream.setTimeout(timeout);
        this.#dialled.set(stream, dialled);
        return stream;
      })
      .then(
        (stream) => onCreated?.(null, stream),
        // Node reads no stream beside an error.
        (error: unknown) => (onCreated as ((error: Error) => void) | undefined)?.(asError(error)),
      );
  }

  /** Whether the flow of a connection was opened on a route that has changed since. */
  isStale(stream: Duplex): boolean {
    return this.#dialled.get(stream)?.isStale() === true;
  }
}

class WeirHttpAgent extends HttpAgent implements KeepsIdle {
  readonly connections: Connections;

  constructor(dialer: OpensStreams, options: AgentOptions) {
    super({ keepAlive: true, ...options });
    this.connections = new Connections(dialer, options);
  }

  override createConnection(request: RequestOptions, onCreated?: OnCreated): undefined {
    this.connections.open(request, (socket) => socket, onCreated);
  }

  /** @returns whether the connection may be kept, which the types of Node do not have */
  override keepSocketAlive(stream: Duplex): boolean {
    const kept: unknown = super.keepSocketAlive(stream);
    return kept !== false && !this.connections.isStale(stream);
  }

  renew(): void {
    destroyWhere(this.freeSockets, (stream) => this.connections.isStale(stream));
  }

  closeIdle(): void {
    destroyWhere(this.freeSockets, () => true);
  }
}

class WeirHttpsAgent extends HttpsAgent implements KeepsIdle {
  readonly connections: Connections;

  constructor(dialer: OpensStreams, options: AgentOptions) {
    super({ keepAlive: true, ...options });
    this.connections = new Connections(dialer, options);
  }

  override createConnection(request: RequestOptions, onCreated?: OnCreated): undefined {
    // That of Node reuses sessions of TLS.
    const wrap = (socket: Duplex): WithTimeout => {
      const stream = super.createConnection({ ...request, socket } as RequestOptions);
      if (!(stream instanceof TLSSocket))
        throw new TypeError('https.Agent has not created a TLSSocket');
      return stream;
    };
    this.connections.open(request, wrap, onCreated);
  }

  override keepSocketAlive(stream: Duplex): boolean {
    const kept: unknown = super.keepSocketAlive(stream);
    return kept !== false && !this.connections.isStale(stream);
  }

  renew(): void {
    destroyWhere(this.freeSockets, (stream) => this.connections.isStale(stream));
  }

  closeIdle(): void {
    destroyWhere(this.freeSockets, () => true);
  }
}

/** Creates the agents of one call of `Weir.agent`. */
export function createAgents(
  dialer: OpensStreams,
  options: AgentOptions,
  renewals: Renewals,
): WeirAgents {
  const http = new WeirHttpAgent(dialer, options);
  const https = new WeirHttpsAgent(dialer, options);
  // One by one: the host program may keep only one of them.
  renewals.add(http);
  renewals.add(https);
  return new Agents(http, https);
}

/** A class, so that `destroy` is not enumerable: `got` rejects agents of other names than `http`, `https` and `http2`. */
class Agents implements WeirAgents {
  readonly http: HttpAgent;
  readonly https: HttpsAgent;

  constructor(http: HttpAgent, https: HttpsAgent) {
    this.http = http;
    this.https = https;
  }

  destroy(): void {
    this.http.destroy();
    this.https.destroy();
  }
}

function destroyWhere(
  idle: HttpAgent['freeSockets'],
  mayDestroy: (stream: Duplex) => boolean,
): void {
  for (const streams of Object.values(idle)) {
    // A copy: Node removes a destroyed one.
    for (const stream of streams?.slice() ?? []) if (mayDestroy(stream)) stream.destroy();
  }
}
