import {
  type LocalExchange,
  LocalHttpError,
  type LocalListen,
  LocalServer,
  RequestRouter,
  type RouteKey,
} from '@weir/server/local-http';
import { loadForms } from '@weir/proxy/protocols';
import { ActionError } from '../parameters.ts';
import type { DashboardContext, PageAction, PageSource, PageTopic } from '../contract.ts';
import { type PageFiles, respondFile } from '../files/page-files.ts';
import { type JsonValue, KEY_HEADER, type SessionInfo } from '../shared/protocol.ts';
import {
  checkedParameters,
  failedResponse,
  MAX_WATCHES_BYTES,
  parseWatches,
  WindowStream,
} from './window-stream.ts';
import { type BrowserSession, cookieOf, Sessions } from './sessions.ts';

export interface DashboardServerOptions {
  readonly listen: LocalListen;
  readonly files: PageFiles;
  readonly context: DashboardContext;
  readonly sources: readonly PageSource[];
  readonly version: string;
  readonly onDefect: (error: unknown) => void;
}

/** Streams of one browser: HTTP/1.1 allows six connections, and actions need one. */
const MAX_STREAMS_OF_SESSION = 4;
const MAX_STREAMS = 16;
/** Maximum size in bytes of a body with a token, which any client may send. */
const MAX_TOKEN_BYTES = 256;
/** Maximum number of concurrent actions. */
const MAX_ACTIONS = 16;
/** Time limit of an action in milliseconds; probes of many nodes take long. */
const ACTION_MS = 115_000;

interface DashboardRoute extends RouteKey {
  readonly name: 'session' | 'open' | 'change' | 'act';
}

const ROUTER = new RequestRouter<DashboardRoute>([
  { method: 'GET', path: '/session', name: 'session' },
  { method: 'POST', path: '/session', name: 'session' },
  { method: 'POST', path: '/streams', name: 'open' },
  { method: 'PUT', path: '/streams/{stream?}', name: 'change' },
  { method: 'POST', path: '/actions', name: 'act' },
  { method: 'POST', path: '/actions/{action?}', name: 'act' },
]);

/** Methods of all other paths. */
const FILE_METHODS: readonly string[] = ['GET', 'HEAD'];

/** The HTTP server of `weir dashboard`. */
export class DashboardServer implements AsyncDisposable {
  readonly #options: DashboardServerOptions;
  readonly #sessions = new Sessions(() => performance.now());
  readonly #topics: ReadonlyMap<string, PageTopic>;
  readonly #actions: ReadonlyMap<string, PageAction>;
  readonly #streams = new Map<
    string,
    { readonly stream: WindowStream; readonly of: BrowserSession }
  >();
  /** Holds for the open streams, released with the last one. */
  #held: DisposableStack | undefined;
  #running = 0;
  #server: LocalServer | undefined;

  private constructor(options: DashboardServerOptions) {
    this.#options = options;
    this.#topics = byName(options.sources.flatMap(({ topics }) => topics));
    this.#actions = byName(options.sources.flatMap(({ actions }) => actions));
  }

  /** @throws {BindError} */
  static async start(options: DashboardServerOptions): Promise<DashboardServer> {
    await loadForms();
    const dashboard = new DashboardServer(options);
    dashboard.#server = await LocalServer.start({
      listen: options.listen,
      changeHeader: KEY_HEADER,
      headers: pageHeaders(options.files.scriptHashes),
      serve: (exchange) => dashboard.#serve(exchange),
      onDefect: options.onDefect,
    });
    return dashboard;
  }

  /** The URL without a token; for a unix socket, the URL of whatever forwards to it, without its port. */
  get url(): string {
    return this.#server?.url ?? 'http://localhost';
  }

  /** `127.0.0.1:8080`, or the path of a unix socket. */
  get address(): string {
    return this.#server?.address ?? '';
  }

  /** A new single-use link. An earlier unused link becomes invalid. */
  newLink(): string {
    return `${this.url}/#${this.#sessions.newLink()}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server?.[Symbol.asyncDispose]();
  }

  async #serve(exchange: LocalExchange): Promise<void> {
    const routed = ROUTER.find(exchange.method, exchange.path.split('/'));
    if (routed.kind === 'found') await this.#handle(exchange, routed.route, routed.parameters);
    else if (routed.kind === 'wrong_method') throw wrongMethod(routed.allow);
    else if (!FILE_METHODS.includes(exchange.method)) throw wrongMethod(FILE_METHODS);
    else await respondFile(exchange, this.#options.files);
  }

  async #handle(
    exchange: LocalExchange,
    { name }: DashboardRoute,
    parameters: Readonly<Record<string, string>>,
  ): Promise<void> {
    switch (name) {
      case 'session':
        return this.#serveSession(exchange);
      case 'open':
        return this.#openStream(exchange);
      case 'change':
        return this.#change(exchange, parameters['stream'] ?? '');
      case 'act':
        return this.#act(exchange, parameters['action'] ?? '');
      default:
        return name satisfies never;
    }
  }

  async #serveSession(exchange: LocalExchange): Promise<void> {
    const { version, context } = this.#options;
    const about = { version, readOnly: context.readOnly };
    if (exchange.method === 'GET') {
      this.#authorize(exchange);
      exchange.sendJson(200, { ...about, key: keyOf(exchange) } satisfies SessionInfo);
      return;
    }
    const body = await exchange.readJson(MAX_TOKEN_BYTES);
    const token = typeof body === 'object' && body && 'token' in body ? body.token : undefined;
    const { cookie, key } = this.#sessions.open(typeof token === 'string' ? token : '');
    exchange.trust();
    const secure = this.url.startsWith('https:') ? '; Secure' : '';
    exchange.sendJson(200, { ...about, key } satisfies SessionInfo, {
      'Set-Cookie': `${this.#cookieName(exchange)}=${cookie}; Path=/; HttpOnly; SameSite=Strict${secure}`,
    });
  }

  async #openStream(exchange: LocalExchange): Promise<void> {
    const session = this.#authorize(exchange);
    const watches = parseWatches(await exchange.readJson(MAX_WATCHES_BYTES));
    if (session.streams >= MAX_STREAMS_OF_SESSION || this.#streams.size >= MAX_STREAMS) {
      throw new LocalHttpError(
        429,
        'too-many-windows',
        'too many windows of the dashboard are open',
      );
    }
    const writer = exchange.openEvents();
    session.streams++;
    this.#held ??= this.#hold();
    const stream = new WindowStream(
      { writer, topics: this.#topics, onDefect: this.#options.onDefect },
      watches,
    );
    this.#streams.set(stream.name, { stream, of: session });
    const close = (): void => {
      stream.close();
      session.streams--;
      session.usedAt = performance.now();
      this.#streams.delete(stream.name);
      if (this.#streams.size > 0) return;
      this.#held?.dispose();
      this.#held = undefined;
    };
    if (writer.closed) close();
    else writer.onClose = close;
  }

  #hold(): DisposableStack {
    const held = new DisposableStack();
    held.use(this.#options.context.monitor.hold());
    held.use(
      this.#options.context.monitor.onChange(() => {
        for (const { stream } of this.#streams.values()) stream.touch();
      }),
    );
    return held;
  }

  async #change(exchange: LocalExchange, name: string): Promise<void> {
    const session = this.#authorize(exchange);
    const watches = parseWatches(await exchange.readJson(MAX_WATCHES_BYTES));
    const found = this.#streams.get(name);
    if (found?.of !== session)
      throw new LocalHttpError(404, 'not-found', 'there is no such stream');
    found.stream.setWatches(watches);
    exchange.send(204);
  }

  async #act(exchange: LocalExchange, name: string): Promise<void> {
    this.#authorize(exchange);
    const parameters = checkedParameters(await exchange.readJson());
    try {
      exchange.sendJson(200, await this.#run(name, parameters, exchange.signal));
    } catch (error) {
      const failed = failedResponse(error);
      if (!failed) throw error;
      exchange.sendJson(failed.status, failed.body);
    }
  }

  async #run(name: string, parameters: JsonValue, signal: AbortSignal): Promise<JsonValue> {
    const action = this.#actions.get(name);
    if (!action) throw new ActionError('not-found', 'there is no such action');
    if (action.changes && this.#options.context.readOnly) {
      throw new ActionError(
        'read-only',
        'weir dashboard runs with --read-only: nothing is changed',
      );
    }
    if (this.#running >= MAX_ACTIONS) throw new ActionError('busy', 'too many actions at a time');
    this.#running++;
    try {
      return await action.run(
        parameters,
        AbortSignal.any([signal, AbortSignal.timeout(ACTION_MS)]),
      );
    } finally {
      this.#running--;
    }
  }

  /** The session of a request. @throws {LocalHttpError} 401 */
  #authorize(exchange: LocalExchange): BrowserSession {
    const cookie = cookieOf(exchange.headers.cookie, this.#cookieName(exchange));
    const session = this.#sessions.find(cookie, keyOf(exchange));
    exchange.trust();
    return session;
  }

  /** Browsers share cookies between the ports of a host, so the name contains the port. */
  #cookieName({ headers }: LocalExchange): string {
    const port = this.#server?.port ?? /:(\d{1,5})$/.exec(headers.host ?? '')?.[1] ?? 80;
    return `weir-dashboard-${port}`;
  }
}

function keyOf({ headers }: LocalExchange): string {
  const key = headers[KEY_HEADER];
  return typeof key === 'string' ? key : '';
}

/** @param allow methods of the path */
const wrongMethod = (allow: readonly string[]): LocalHttpError =>
  new LocalHttpError(405, 'method', `expected ${allow.join(' or ')}`, {
    headers: { Allow: allow.join(', ') },
  });

function byName<T extends { readonly name: string }>(parts: readonly T[]): ReadonlyMap<string, T> {
  const map = new Map(parts.map((part) => [part.name, part]));
  if (map.size < parts.length) throw new TypeError('two parts of the dashboard have one name');
  return map;
}

/** Headers of every response. @param scriptHashes hashes of the document's inline scripts: `sha256-…` */
export const pageHeaders = (scriptHashes: readonly string[]): Readonly<Record<string, string>> => ({
  'Content-Security-Policy': [
    "default-src 'none'",
    `script-src ${["'self'", ...scriptHashes.map((hash) => `'${hash}'`)].join(' ')}`,
    "style-src 'self'",
    "connect-src 'self'",
    "img-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; '),
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Embedder-Policy': 'require-corp',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Cache-Control': 'no-store',
});
