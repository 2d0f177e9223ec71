import { createRequire } from 'node:module';
import type { ConnectionOptions } from 'node:tls';
import { asError, WeirError } from '@weir/base';
import type { Dialled, OpensStreams, WeirDialOptions } from './dial.ts';
import type { KeepsIdle, Renewals } from './renewals.ts';

/** The type of `dispatcher` in the options of the global `fetch`; `unknown` where the types of Node are not in force. */
export type FetchDispatcher = RequestInit extends { dispatcher?: infer Dispatcher }
  ? NonNullable<Dispatcher>
  : unknown;

/** The route of a dispatcher's connections, and options of undici. */
export interface DispatcherOptions extends WeirDialOptions {
  /** Options of TLS to the destination, such as `ca`. */
  readonly tls?: ConnectionOptions | undefined;
  /** Whether HTTP/2 is offered to destinations; by default as undici does. */
  readonly allowH2?: boolean | undefined;
  /** Further options of undici's Agent, such as `connections` or `keepAliveTimeout`. */
  readonly agent?: object | undefined;
}

/** The parts of the npm package undici that are used, of version 7 or newer. */
export interface UndiciModule<Dispatcher extends object = object> {
  // The parameters of classes of another package are not known here.
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly Agent: new (options?: any) => Dispatcher;
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly buildConnector: (options?: any) => any;
}

/** What the host program calls on a dispatcher, and what undici does. */
interface AnyDispatcher {
  dispatch(options: object, handler: object): boolean;
  close(): Promise<void>;
  destroy(error?: Error | null): Promise<void>;
}

/** What undici gives to a function that connects. */
interface ConnectRequest {
  readonly hostname: string;
  readonly protocol: string;
  readonly port: string;
  readonly servername?: string | undefined;
}

type OnConnected = (error: Error | null, socket: object | null) => void;

type Connect = (request: ConnectRequest, onConnected: OnConnected) => void;

const DEFAULT_PORTS: Readonly<Record<string, number>> = { 'http:': 80, 'https:': 443 };

/** The parts of undici by their names at run time, which types of its versions do not share. */
interface UndiciParts {
  readonly Agent: new (options: object) => AnyDispatcher;
  readonly Dispatcher: new () => object;
  readonly buildConnector: (options: object) => (request: object, onConnected: OnConnected) => void;
  /** Adapts handlers of undici 7, such as those of `fetch` of Node 24, to undici 8. */
  readonly Dispatcher1Wrapper?: new (dispatcher: AnyDispatcher) => AnyDispatcher;
}

/**
 * Returns the undici of the host program.
 * @throws {WeirError} `no_undici` when there is none
 */
export function loadUndici(): unknown {
  try {
    return createRequire(import.meta.url)('undici');
  } catch (cause) {
    throw new WeirError(
      'no_undici',
      'a dispatcher needs the npm package undici, version 7 or newer: `npm install undici`, or pass it as `undici`',
      { cause },
    );
  }
}

/** Checks that a value is undici in a version that has what is needed. @throws {WeirError} `no_undici` */
function checkUndici(module: unknown): UndiciParts {
  const parts = module as Partial<UndiciParts>;
  const { Agent, Dispatcher, buildConnector } = parts;
  if ([Agent, Dispatcher, buildConnector].every((part) => typeof part === 'function')) {
    return module as UndiciParts;
  }
  throw new WeirError('no_undici', '`undici` must be the module undici, version 7 or newer');
}

/** Connections of undici in one generation: a reload that changes their route begins another. */
class Generation {
  readonly agent: AnyDispatcher;
  /** For handlers of the interface of undici 7. */
  readonly #legacy: AnyDispatcher;
  readonly #live = new Set<Dialled>();

  constructor(
    { Agent, Dispatcher1Wrapper, buildConnector }: UndiciParts,
    dialer: OpensStreams,
    { outbound, user, inbound, tls, allowH2, agent }: DispatcherOptions,
    onStale: () => void,
  ) {
    const route = { outbound, user, inbound, allowHalfOpen: false };
    const h2 = allowH2 === undefined ? {} : { allowH2 };
    const secure = buildConnector({ ...tls, ...h2 });
    const connect: Connect = (request, onConnected) => {
      const { hostname, port, protocol } = request;
      const host = hostname.startsWith('[') ? hostname.slice(1, -1) : hostname;
      dialer.connect({ ...route, host, port: Number(port) || (DEFAULT_PORTS[protocol] ?? 0) }).then(
        (dialled) => {
          const { socket } = dialled;
          this.#live.add(dialled);
          socket.once('close', () => this.#live.delete(dialled));
          if (protocol === 'https:') secure({ ...request, httpSocket: socket }, onConnected);
          else onConnected(null, socket);
          // A reload during the dial has not found this connection.
          if (dialled.isStale()) onStale();
        },
        (error: unknown) => onConnected(asError(error), null),
      );
    };
    this.agent = new Agent({ ...agent, ...h2, connect });
    this.#legacy = Dispatcher1Wrapper ? new Dispatcher1Wrapper(this.agent) : this.agent;
  }

  dispatch(options: object, handler: object): boolean {
    const isCurrent = 'onRequestStart' in handler;
    return (isCurrent ? this.agent : this.#legacy).dispatch(options, handler);
  }

  /** Whether a connection was opened on a route that has changed since. */
  get isStale(): boolean {
    for (const dialled of this.#live) if (dialled.isStale()) return true;
    return false;
  }
}

/**
 * Creates a dispatcher whose connections are flows of a running proxy: an instance of `Dispatcher` of the undici given.
 * When a reload changes the route of one of its connections, further requests dial anew, and the connections end with
 * the requests that they carry.
 * @throws {WeirError} `no_undici`
 */
export function createDispatcher(
  module: unknown,
  dialer: OpensStreams,
  options: DispatcherOptions,
  renewals: Renewals,
): object {
  const undici = checkUndici(module);
  class WeirDispatcher extends undici.Dispatcher implements AnyDispatcher, KeepsIdle {
    #current = this.#next();
    /** Agents of former generations that still carry requests. */
    readonly #former = new Set<AnyDispatcher>();
    #isClosed = false;

    dispatch(request: object, handler: object): boolean {
      return this.#current.dispatch(request, handler);
    }

    async close(): Promise<void> {
      this.#isClosed = true;
      await Promise.all([...this.#former, this.#current.agent].map((agent) => agent.close()));
    }

    async destroy(cause?: Error | null): Promise<void> {
      this.#isClosed = true;
      const agents = [...this.#former, this.#current.agent];
      await Promise.all(agents.map((agent) => agent.destroy(cause)));
    }

    renew(): void {
      if (!this.#isClosed && this.#current.isStale) this.closeIdle();
    }

    closeIdle(): void {
      if (this.#isClosed) return;
      const { agent } = this.#current;
      this.#current = this.#next();
      this.#former.add(agent);
      void agent.close().finally(() => this.#former.delete(agent));
    }

    #next(): Generation {
      return new Generation(undici, dialer, options, () => this.renew());
    }
  }
  const dispatcher = new WeirDispatcher();
  renewals.add(dispatcher);
  return dispatcher;
}
