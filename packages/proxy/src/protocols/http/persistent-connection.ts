import { asError, messageOf } from '@weir/base';
import { type Endpoint, unmapIPv4 } from '@weir/io/addresses';
import {
  type ByteLink,
  type Carrier,
  closeGracefully,
  LinkWatch,
  type WatchResult,
} from '@weir/io/links';
import { Deadline, HANDSHAKE_MS, type TurnShare } from '@weir/io/time';
import { DialError, LinkClosedError } from '@weir/io';
import {
  type FieldLines,
  type Framing,
  type HeadBytes,
  type HeadMemory,
  MessageError,
  parseRequestHead,
  readHead,
  requestFraming,
  type RequestHead,
  startsRequest,
  valuesOf,
} from '@weir/http/http1';
import { HEAD_LIMIT } from '@weir/http/fields';
import type { Session } from '../../tracker/flow.ts';
import { AccountTable } from '../users/account-table.ts';
import type { InboundContext, Origin, StreamRequest } from '../contract.ts';
import {
  type Accounts,
  accountsOf,
  type AccountValidity,
  type AuthenticatedUser,
  OPEN_TO_ALL,
} from '../users/accounts.ts';
import { authorizeClient } from '../inbounds/authorize.ts';
import { logAcceptFailure, logRejection, RejectedClientError } from '../inbounds/handshake.ts';
import { HookError } from '../hooks.ts';
import {
  accountOf,
  CHALLENGE,
  CONNECTED,
  credentialsOf,
  hasCredentials,
  responseBytes,
  STATUS_OF,
} from './responses.ts';
import { ForwardedExchange } from './forwarding/forwarded-exchange.ts';
import {
  expectsContinue,
  finalResponse,
  hasPassed,
  hopsLeft,
  type OriginRequest,
  persists,
  upgradeOf,
  withOneHopLess,
} from './forwarding/forwarded-heads.ts';
import { CLIENT_IDLE_MS, RESPONSE_LINGER_MS, UNAUTHENTICATED_REQUESTS } from './limits.ts';
import { OriginFlow, OriginFlows } from './origin-flow.ts';
import { parseHost, parseRequestTarget, type TargetAuthority } from './request-target.ts';
import { drainBody, isDrainable } from './forwarding/transfer-body.ts';

/** State that all connections of one inbound share. */
export interface HttpInboundShared {
  readonly context: InboundContext;
  /** The accounts until the first configuration is in force; `undefined` for an open proxy. */
  readonly accounts: AccountTable | undefined;
  readonly allowTransparent: boolean;
  /** The name of this inbound in `Via`. */
  readonly pseudonym: string;
  /** Bounds the requests of the inbound per turn of the event loop. */
  readonly requests: TurnShare;
  /** Memory of unfinished heads of requests. */
  readonly heads: HeadMemory;
  /** Memory of unfinished heads of origins' responses. */
  readonly responseHeads: HeadMemory;
}

/** The next step of the connection after a request. */
type Next =
  /** Read the next request. */
  | 'request'
  /** Close once the client has received the response. */
  | 'close'
  /** Nothing: the link became a tunnel, which has ended. */
  | 'spent';

/** A valid request of an authenticated user. */
interface Request {
  readonly head: RequestHead;
  readonly framing: Framing;
  readonly user: AuthenticatedUser;
  /** Whether bytes after the head were received with it. */
  readonly followed: boolean;
}

const ENDED = 'the account has been removed, or the inbound is draining';

/** Idempotent methods, which may be retried (RFC 9110 §9.2.2). */
const IDEMPOTENT: ReadonlySet<string> = new Set([
  'GET',
  'HEAD',
  'OPTIONS',
  'TRACE',
  'PUT',
  'DELETE',
]);

/** A persistent connection of a client (RFC 9112 §9.3): serves one request after the other. */
export class PersistentConnection {
  readonly #shared: HttpInboundShared;
  readonly #context: InboundContext;
  readonly #link: ByteLink;
  readonly #origin: Omit<Origin, 'user' | 'account'>;
  readonly #accounts: Accounts;
  /** The account of the last request's user; `undefined` if that request was rejected. */
  #account: AccountValidity | undefined;
  readonly #flows: OriginFlows;
  /** Rejected requests since the last one with a valid user name and password. */
  #unauthenticated = 0;

  constructor(shared: HttpInboundShared, carrier: Carrier, session: Session) {
    this.#shared = shared;
    this.#context = shared.context;
    this.#link = carrier.link;
    this.#flows = new OriginFlows(shared.context.clock);
    this.#accounts = accountsOf(shared.context.memory);
    const source = carrier.remote && unmapIPv4(carrier.remote.host);
    this.#origin = { inbound: shared.context.tag, source, session };
  }

  /** Serves the connection until it ends; resolves when its flows have ended as well. */
  async serve(): Promise<void> {
    try {
      let next = await this.#next(true);
      while (next === 'request') {
        const turn = this.#shared.requests.take();
        if (turn) await turn;
        next = await this.#next(false);
      }
      this.#flows.retireIdle();
      if (next === 'close') {
        const limits = { limitMs: RESPONSE_LINGER_MS, limitBytes: Infinity };
        await closeGracefully(this.#link, this.#context.clock, limits);
      }
    } catch (error) {
      const cause = asError(error);
      this.#link.destroy(cause);
      this.#flows.destroyIdle(cause);
      throw error;
    } finally {
      this.#flows.retireIdle();
      await this.#flows.ended();
    }
  }

  async #next(first: boolean): Promise<Next> {
    try {
      const read = await this.#readHead(first);
      return read ? await this.#serveRequest(read) : 'close';
    } catch (error) {
      if (!(error instanceof MessageError)) throw error;
      return await this.#respond(error.status, error.message, { keep: false });
    }
  }

  /**
   * Reads the head of a request; `undefined` at the end of the stream, at the idle timeout, and when the client may not
   * wait.
   */
  async #readHead(first: boolean): Promise<HeadBytes | undefined> {
    const { clock } = this.#context;
    const account = this.#account;
    if (!first && !this.#mayWait) return undefined;
    // The first request is the handshake of this connection: one time limit from the start.
    using opening = new Deadline(clock, first ? HANDSHAKE_MS : CLIENT_IDLE_MS, 'a request');
    const endWatch = account?.watch(() => opening.abort(new LinkClosedError(ENDED)));
    try {
      if (!(await this.#firstByte(opening.signal))) return undefined;
    } finally {
      endWatch?.();
    }
    using head = first ? undefined : new Deadline(clock, HANDSHAKE_MS, 'a request');
    const { signal } = head ?? opening;
    try {
      return await readHead(this.#link, startsRequest, signal, HEAD_LIMIT, this.#shared.heads);
    } catch (error) {
      if (error === signal.reason) throw new MessageError(408, messageOf(error));
      throw error;
    }
  }

  async #firstByte(signal: AbortSignal): Promise<boolean> {
    try {
      const chunk = await this.#link.read(signal);
      if (chunk) this.#link.unread(chunk);
      return chunk !== undefined;
    } catch (error) {
      if (error === signal.reason) return false;
      throw error;
    }
  }

  async #serveRequest({ bytes, followed }: HeadBytes): Promise<Next> {
    const head = parseRequestHead(bytes);
    const framing = requestFraming(head);
    const hosts = valuesOf(head.fields, 'host');
    if (hosts.length > 1) throw new MessageError(400, 'several Host headers');
    const { allowTransparent } = this.#shared;
    const checked = this.#authenticate(head.fields);
    const user = checked instanceof Promise ? await checked : checked;
    this.#account = user && this.#accounts.validityOf(user);
    if (!user) {
      this.#flows.retireIdle();
      if (hasCredentials(head.fields)) this.#logWrongCredentials();
      const reason = 'this proxy requires a user name and password';
      const isLast = ++this.#unauthenticated >= UNAUTHENTICATED_REQUESTS;
      return this.#reject({ head, framing, followed }, 407, reason, CHALLENGE, isLast);
    }
    this.#unauthenticated = 0;
    const request: Request = { head, framing, user, followed };
    const target = parseRequestTarget(head.method, head.target);
    if (target.form === 'authority') return this.#connect(request, target.destination);
    if (target.form === 'absolute') return this.#forward(request, target, target.path);
    if (!allowTransparent) throw new MessageError(400, 'this is a proxy: the request has no host');
    const place = parseHost(hosts[0] ?? '');
    return this.#forward(request, place, target.path);
  }

  /**
   * Authenticates against the current accounts, not those at the time of accept.
   *
   * @returns `undefined` for missing or wrong credentials, and for a client that the host program refuses.
   * @throws {MessageError} when the inbound was removed, or the host program fails.
   */
  #authenticate(
    fields: FieldLines,
  ): AuthenticatedUser | undefined | Promise<AuthenticatedUser | undefined> {
    const accepted = this.#accounts.accepted ?? this.#shared.accounts ?? OPEN_TO_ALL;
    if (accepted !== OPEN_TO_ALL && !(accepted instanceof AccountTable)) {
      throw new MessageError(403, 'this proxy is no longer served');
    }
    const user = accepted instanceof AccountTable ? accountOf(fields, accepted) : OPEN_TO_ALL;
    return user && this.#context.hooks?.authorize ? this.#authorize(fields, user) : user;
  }

  /** Asks the host program about the client of a request. @throws {MessageError} when that fails */
  async #authorize(
    fields: FieldLines,
    user: AuthenticatedUser,
  ): Promise<AuthenticatedUser | undefined> {
    const { source } = this.#origin;
    const sent = credentialsOf(fields);
    try {
      return await authorizeClient(this.#context, { user, sent, source, link: this.#link });
    } catch (error) {
      if (!(error instanceof HookError)) throw error;
      logAcceptFailure(error, this.#context);
      throw new MessageError(503, 'this proxy cannot authorize its clients now');
    }
  }

  /**
   * Logs wrong credentials. A request without any is not logged: browsers, and programs that prompt their user, begin
   * with one.
   */
  #logWrongCredentials(): void {
    const reason = this.#context.hooks?.authorize
      ? 'refused by the accounts or the authorize hook'
      : 'wrong user name or password';
    const error = new RejectedClientError(reason);
    logRejection(error, this.#context, this.#origin.source);
  }

  async #connect(request: Request, destination: Endpoint): Promise<Next> {
    // A CONNECT has no content (RFC 9110 §9.3.6): bytes after its head belong to the tunnel.
    if (request.framing.kind !== 'none') throw new MessageError(400, 'a CONNECT with a body');
    const { dispatcher, sniffing } = this.#context;
    let accepted = false;
    try {
      await dispatcher.stream({
        ...this.#streamRequest(request, destination),
        sniff: sniffing,
        accept: async () => {
          accepted = true;
          const full = this.#link.write(CONNECTED);
          if (full) await full;
          return this.#link;
        },
      });
    } catch (error) {
      if (accepted || !(error instanceof DialError)) throw error;
      const sent = await this.#sentMeanwhile();
      // Bytes that were meant for the tunnel must not be read as the next request.
      const followed = request.followed || sent.kind === 'bytes';
      return this.#reject({ ...request, followed }, STATUS_OF[error.code], error.message);
    }
    return 'spent';
  }

  async #forward(
    request: Request,
    { destination, authority }: TargetAuthority,
    path: string,
  ): Promise<Next> {
    const { framing, user } = request;
    const { pseudonym } = this.#shared;
    // A request that has been forwarded here before is in a loop (RFC 9110 §7.6.3).
    if (hasPassed(request.head.fields, pseudonym)) {
      return this.#reject(request, 508, 'the request has passed this proxy before');
    }
    const hops = hopsLeft(request.head);
    if (hops === 0) return this.#respondAsOrigin(request);
    const head = hops === undefined ? request.head : withOneHopLess(request.head, hops);
    const keep = persists(head) && this.#mayWait;
    const message: OriginRequest = {
      head,
      authority,
      path,
      framing,
      upgrade: upgradeOf(head),
      keep,
      pseudonym,
    };
    const { credential, label } = user;
    const key = JSON.stringify([
      credential,
      label,
      destination.host.toLowerCase(),
      destination.port,
    ]);
    const repeatable = framing.kind === 'none' && IDEMPOTENT.has(head.method);
    for (;;) {
      const reused = await this.#flows.take(key);
      let flow = reused;
      if (!flow) {
        const opened = await this.#open(request, destination);
        if (!(opened instanceof OriginFlow)) return opened;
        flow = opened;
      }
      let parked = false;
      try {
        const outcome = await new ForwardedExchange(
          this.#link,
          flow.link,
          message,
          this.#context.clock,
          this.#shared.responseHeads,
        ).run();
        switch (outcome.kind) {
          case 'upgraded':
            return 'spent';
          case 'responded':
            parked = outcome.keepOrigin && outcome.keepClient;
            if (parked) this.#flows.park(key, flow);
            return outcome.keepClient ? 'request' : 'close';
          case 'failed':
            // RFC 9112 §9.3.1: an idle connection may close just as it is used again.
            if (reused && outcome.stale && repeatable) continue;
            return await this.#respond(outcome.status, outcome.error.message, {
              keep: keep && outcome.drained,
              headOnly: head.method === 'HEAD',
            });
        }
      } finally {
        if (!parked) this.#flows.retire(flow);
      }
    }
  }

  /** Opens a flow, or sends the client the reason of the failure. */
  async #open(request: Request, destination: Endpoint): Promise<OriginFlow | Next> {
    try {
      // The request has the host name, so sniffing is not needed.
      return await OriginFlow.open(this.#context.dispatcher, {
        ...this.#streamRequest(request, destination),
        sniff: false,
      });
    } catch (error) {
      await this.#sentMeanwhile();
      if (!(error instanceof DialError)) throw error;
      return this.#reject(request, STATUS_OF[error.code], error.message);
    }
  }

  /** Whether another request may follow. If not, the response says so, and clients do not repeat their requests. */
  get #mayWait(): boolean {
    return this.#account ? this.#account.mayWait : !this.#accounts.draining;
  }

  #streamRequest(
    { user: { label } }: Request,
    destination: Endpoint,
  ): Omit<StreamRequest, 'accept' | 'sniff'> {
    const origin = { ...this.#origin, user: label, account: this.#account };
    return { origin, destination, client: this.#link };
  }

  /**
   * Responds to a request that is not forwarded, and drains its body to keep the connection.
   * @param isLast whether the connection ends even if it could be kept
   */
  async #reject(
    request: Omit<Request, 'user'>,
    status: number,
    reason: string,
    fields?: FieldLines,
    isLast = false,
  ): Promise<Next> {
    const keep = !isLast && this.#mayWait && canKeep(request);
    const headOnly = request.head.method === 'HEAD';
    const next = await this.#respond(status, reason, { keep, headOnly, fields: fields ?? [] });
    return next === 'close' ? next : this.#drain(request);
  }

  /** Responds to a TRACE or OPTIONS whose Max-Forwards is 0 (RFC 9110 §7.6.2). */
  async #respondAsOrigin(request: Request): Promise<Next> {
    const { log, tag } = this.#context;
    const keep = this.#mayWait && canKeep(request);
    log.debug(`inbound ${tag}: responded 200: Max-Forwards is 0`);
    await this.#send(finalResponse(request.head, keep));
    return keep ? this.#drain(request) : 'close';
  }

  async #drain({ framing }: Pick<Request, 'framing'>): Promise<Next> {
    return (await drainBody(this.#link, framing, this.#context.clock)) ? 'request' : 'close';
  }

  async #respond(
    status: number,
    reason: string,
    {
      keep,
      headOnly = false,
      fields = [],
    }: { keep: boolean; headOnly?: boolean; fields?: FieldLines },
  ): Promise<Next> {
    const { log, tag } = this.#context;
    log.debug(`inbound ${tag}: responded ${status}: ${reason}`);
    await this.#send(responseBytes({ status, reason, fields, keep, headOnly }));
    return keep ? 'request' : 'close';
  }

  /** Sends a response of the proxy itself, within HANDSHAKE_MS. */
  async #send(response: Uint8Array): Promise<void> {
    const full = this.#link.write(response);
    if (!full) return;
    using deadline = new Deadline(this.#context.clock, HANDSHAKE_MS, 'the response');
    const { signal } = deadline;
    const onAbort = (): void => this.#link.destroy(asError(signal.reason));
    signal.addEventListener('abort', onAbort, { once: true });
    await full;
  }

  /** Reads ahead what the client has sent during the dial. @throws the error of its connection. */
  async #sentMeanwhile(): Promise<WatchResult> {
    const result = await new LinkWatch(this.#link).stop();
    if (result.kind === 'failure') throw result.error;
    return result;
  }
}

/**
 * Whether the next request can be read after one that is not forwarded, once its body is drained.
 */
function canKeep({ head, framing, followed }: Omit<Request, 'user'>): boolean {
  const readable = head.method === 'CONNECT' ? !followed : isDrainable(framing);
  // A client that expects 100 Continue may or may not send its body after a final response.
  return persists(head) && readable && !expectsContinue(head);
}
