import {
  type Destination,
  type Endpoint,
  formatEndpoint,
  shownEndpoint,
  shownHost,
  shownSource,
} from '@weir/io/addresses';
import { ChurnMap } from '@weir/base/collections';
import type { LogFields, Logger } from '@weir/base/log';
import { type Clock, Deadline, DIAL_MS } from '@weir/io/time';
import { DialError } from '@weir/io';
import type { ByteLink, PacketLink } from '@weir/io/links';
import { Shares, sourceGroup } from '@weir/io/bounds';
import { LogLimiter } from '@weir/io/pace';
import type { Origin } from '../protocols/contract.ts';
import type { AccountLimits } from '../limits/account-limits.ts';
import type { FlowOutcomes } from '../tracker/flow-outcomes.ts';
import { refusedByLimit } from '../tracker/limit-errors.ts';
import { MemberTries, SLOW_DIAL_MS } from './balancer.ts';
import { AssociationDial, type Dial, DialledFlow, StreamDial } from './dial.ts';
import { accountRemoved, asDialError } from './dial-errors.ts';
import { failureFields, failureLine, FailureLog } from './flow-log.ts';
import type { OutboundVersion, Resolved } from './routing-snapshot.ts';
import { FlowRoutes, type FlowRoutesDeps, type RouteOptions } from './flow-routes.ts';
import type { RouteQuery } from './router/query.ts';

/*
 * Clients of other programs request features of their servers by destinations that are not hosts. They are
 * dialled like any other, since an upstream may have the feature; when the dial fails, its log line
 * explains what the client has requested.
 */

const SING_MUX = 'the client multiplexes (sing-mux: smux, yamux or h2mux)';
const MUX_COOL = 'the client multiplexes (Mux.Cool)';
const UDP_OVER_TCP = 'the client sends UDP over TCP as sing-box does';

const HINTS: ReadonlyMap<string, string> = new Map([
  // sing-mux, `client.go`: one name for its three protocols.
  [
    'sp.mux.sing-box.arpa',
    `${SING_MUX}, which Weir does not support: switch "multiplex" ("smux" in Clash) off in the client`,
  ],
  // Xray-core, `common/mux/client.go`. VMess and VLESS have a command for it.
  [
    'v1.mux.cool',
    `${MUX_COOL}, which Weir supports with VMess and VLESS alone: switch "mux" off in the client`,
  ],
  // sing, `common/uot`: versions 2 and 1.
  ...['sp.v2.udp-over-tcp.arpa', 'sp.udp-over-tcp.arpa'].map(
    (name) =>
      [
        name,
        `${UDP_OVER_TCP}, which Weir does not support: switch "udp_over_tcp" ("udp-over-tcp" in Clash) off in the client`,
      ] as const,
  ),
]);

/** Returns the feature that a destination stands for, and the change that the client needs; `undefined` for a host. */
export const clientFeatureHint = (host: string): string | undefined => HINTS.get(host);

/**
 * Associations that wait for their outbound, in all and of one source: each may dial a proxy, with a handshake of a
 * millisecond there and here, for which connections of the same client should not wait.
 */
const MOST_OPENING = 1024;
export const MOST_OPENING_OF_SOURCE = 256;

/** Pairs of rule and inbound with separate log lines for blocked flows; all others share one. */
const MOST_BLOCKED_LINES = 128;

/**
 * Refuses a flow whose account a reload has removed during the dial.
 *
 * @throws {DialError} `forbidden`
 */
function refuseRemoved<Link>({ account }: Origin, link: Link, close: (link: Link) => void): void {
  if (account?.isValid !== false) return;
  close(link);
  throw accountRemoved();
}

export interface FlowDialerDeps extends FlowRoutesDeps {
  readonly log: Logger;
  /** The counts of flows that were not opened. */
  readonly outcomes: FlowOutcomes;
  /** The limits of accounts. */
  readonly limits: Pick<AccountLimits, 'refusalOf'>;
}

interface ConnectOptions extends RouteOptions {
  /** Watched during a long dial, which is aborted when it disconnects; see `StreamRequest.client`. */
  readonly client?: ByteLink | undefined;
}

const stopping = (): DialError => new DialError('aborted', 'the proxy is stopping');

/** The time limit of one dial, which also ends when the process stops. */
class DialLimit extends Deadline {
  readonly #pending: ChurnMap<DialLimit, true>;

  /** @param pending has this limit until it is disposed of */
  constructor(clock: Clock, pending: ChurnMap<DialLimit, true>) {
    super(clock, DIAL_MS, 'the dial');
    this.#pending = pending;
    pending.set(this, true);
  }

  override [Symbol.dispose](): void {
    super[Symbol.dispose]();
    this.#pending.delete(this);
  }
}

/** Routes and dials streams and associations. The caller accepts the client and relays. */
export class FlowDialer {
  /** The log of failed flows. */
  readonly failures: FailureLog;
  readonly routes: FlowRoutes;
  readonly #deps: FlowDialerDeps;
  /** The time limits of pending dials: listeners of one signal would keep each other as entries of a `Map` do. */
  readonly #pending = new ChurnMap<DialLimit, true>();
  /** Aborts when no dial may begin or continue; its only listeners are waits for hooks of the host program. */
  readonly #stopping = new AbortController();
  /** The time limits of associations that wait for their outbound. */
  readonly #opening = new Shares<Deadline, string>();
  #refusesNew = false;
  readonly #refused: LogLimiter;
  readonly #blocked: LogLimiter;

  constructor(deps: FlowDialerDeps) {
    this.#deps = deps;
    this.#refused = new LogLimiter(deps.clock);
    this.#blocked = new LogLimiter(deps.clock, MOST_BLOCKED_LINES);
    this.failures = new FailureLog(deps.log, deps.clock);
    const log = {
      failed: (line: string, fields: LogFields) => this.failures.write(line, fields),
      blocked: (key: string, line: string, fields: LogFields) =>
        this.#writeBlocked(key, line, fields),
    };
    this.routes = new FlowRoutes(deps, log, this.#stopping.signal);
  }

  /**
   * Refuses flows from now on, because the process is stopping, except the first one of a connection that was accepted
   * before: its client would be refused although another process may share the listener, or take it over. Open flows
   * and pending dials continue.
   */
  refuseNew(): void {
    this.#refusesNew = true;
  }

  /** Aborts every pending dial as well, since the grace period of a stop has expired. */
  stop(): void {
    this.#refusesNew = true;
    const cause = stopping();
    this.#stopping.abort(cause);
    for (const limit of Array.from(this.#pending.keys())) limit.abort(cause);
    this.failures.flush();
  }

  /** Whether the process is stopping and flows are being ended. */
  get stopped(): boolean {
    return this.#stopping.signal.aborted;
  }

  /** Creates the time limit of one dial, which the caller may abort earlier and disposes of. */
  limit(): Deadline {
    const limit = new DialLimit(this.#deps.clock, this.#pending);
    if (this.stopped) limit.abort(stopping());
    return limit;
  }

  /**
   * Checks whether a flow may begin.
   * @throws {DialError} `aborted`
   */
  #begin({ session }: Origin): void {
    if (this.stopped || (this.#refusesNew && session?.isFresh !== true)) {
      throw stopping();
    }
    if (session?.isFresh === true) session.isFresh = false;
  }

  /** Returns the error of a new flow whose account has reached a limit, which is counted and logged. */
  refusedByLimit({ inbound, user, source, account }: Origin): DialError | undefined {
    const { limits, outcomes } = this.#deps;
    const limit = limits.refusalOf(account?.name, source);
    if (limit === undefined) return undefined;
    const refusal = refusedByLimit(account?.name ?? '', limit);
    outcomes.limited++;
    const fields = { inbound, user, source: shownSource(source), error: refusal.message };
    if (this.failures.enabled)
      this.failures.write(`${inbound}: refused: ${refusal.message}`, fields);
    return refusal;
  }

  /**
   * Routes and connects a stream; failures are logged, those of a stop at `debug` at most.
   *
   * @throws {DialError} when the destination was not reached
   */
  connect(
    query: RouteQuery,
    origin: Origin,
    options: ConnectOptions = {},
  ): Promise<DialledFlow<ByteLink>> {
    const { client, signal } = options;
    const connect = (resolved: Resolved): Promise<DialledFlow<ByteLink>> => {
      const limit = this.limit();
      const dial = new StreamDial(query, origin, limit, client, this.#deps.clock, signal);
      return this.#dial(resolved, dial);
    };
    const route = this.routes.route(query, origin, options);
    return route instanceof Promise ? route.then(connect) : connect(route);
  }

  /**
   * Opens an association through the outbound of a route; failures are logged.
   *
   * @param opener the destination of the packet that the association is opened for, as the client wrote it, for
   * messages
   * @param first that destination in the form in which it is sent
   * @param deadline the result of `limit`
   * @throws {DialError} when the outbound could not open it, or too many wait for theirs
   */
  async associate(
    resolved: Resolved,
    opener: Endpoint,
    origin: Origin,
    deadline: Deadline,
    first?: Endpoint,
  ): Promise<DialledFlow<PacketLink>> {
    const opening = this.#opening;
    const source = sourceGroup(origin.source);
    if (opening.countOf(source) >= MOST_OPENING_OF_SOURCE || !this.#mayOpen(source)) {
      const failure = new DialError('failed', 'too many UDP associations wait for their outbound');
      if (this.failures.enabled) {
        this.failures.write(`${origin.inbound}: ${failure.message}`, { inbound: origin.inbound });
      }
      throw failure;
    }
    opening.add(deadline, source);
    try {
      return await this.#dial(
        resolved,
        new AssociationDial(opener, origin, deadline.signal, first),
      );
    } finally {
      opening.delete(deadline);
    }
  }

  /** Whether another association of a source may wait: at the bound, one of the source with the most gives way. */
  #mayOpen(source: string): boolean {
    const { size, most, heaviest } = this.#opening;
    if (size < MOST_OPENING || heaviest === undefined) return true;
    if (most <= this.#opening.countOf(source) + 1) return false;
    this.#opening.delete(heaviest.newest);
    heaviest.newest.abort(
      new DialError('failed', 'it gave way to an association of another client'),
    );
    return true;
  }

  /**
   * Dials through the outbound of a route, or, as long as no server is reached, through other members of its group; the
   * route of the flow names the one that was reached.
   */
  async #dial<Link extends ByteLink | PacketLink>(
    route: Resolved,
    dial: Dial<Link>,
  ): Promise<DialledFlow<Link>> {
    const { clock } = this.#deps;
    const { origin, to, signal, close } = dial;
    const startedAt = clock.now();
    const tries = route.group && new MemberTries(route.group, clock, signal);
    try {
      this.#begin(origin);
      for (let resolved = route; ;) {
        const { version } = resolved;
        version.hold();
        const limits = tries?.begin(version);
        try {
          const options = limits ? { ...limits, origin } : { signal, origin };
          const link = await dial.open(version.outbound, options);
          dial.opened(link);
          refuseRemoved(origin, link, close);
          tries?.succeeded(version);
          return new DialledFlow(link, resolved, close, dial.place);
        } catch (error) {
          version.release();
          const failure = asDialError(error, limits?.signal ?? signal, to);
          const next = tries?.failed(version, failure, to.network === 'tcp');
          if (!next || origin.account?.isValid === false) {
            dial.place?.release();
            this.#countFailure(origin, resolved, failure);
            this.#logFailure(origin, to, resolved, failure, startedAt);
            throw failure;
          }
          this.#deps.outcomes.dialFailed(version.tag);
          this.#logMissed(resolved, to, failure, next);
          resolved = { ...resolved, version: next };
        }
      }
    } finally {
      const ending = dial.end();
      if (ending) await ending;
    }
  }

  /** Counts a flow that was not opened, unless its client has disconnected or its account was removed. */
  #countFailure({ account }: Origin, resolved: Resolved, { code }: DialError): void {
    if (code === 'aborted' || account?.isValid === false || this.routes.leadsToResolver(resolved))
      return;
    const { outcomes, clock } = this.#deps;
    const outcome = code === 'blocked' ? 'blocked' : 'failed';
    outcomes.refused(outcome, resolved, clock.now());
    if (outcome === 'failed') outcomes.dialFailed(resolved.version.tag);
  }

  /** Logs that a flow continues by another member; one line for all destinations. */
  #logMissed(
    { version: { tag: outbound }, group }: Resolved,
    to: Destination,
    { message }: DialError,
    next: OutboundVersion,
  ): void {
    const error = message.replace(`${shownEndpoint(to)}: `, '');
    this.failures.write(
      `balancer ${group?.tag ?? ''}: outbound ${outbound} was not reached: ${error}; the flow goes on by ${next.tag}`,
      { outbound, error },
    );
  }

  /**
   * Logs failures at `info`, those caused by the client at `debug`; refusals (`loop`, `forbidden`) at
   * `warn`, limited.
   */
  #logFailure(
    origin: Origin,
    to: Destination,
    resolved: Resolved,
    failure: DialError,
    startedAt: number,
  ): void {
    const { log, clock } = this.#deps;
    const { code } = failure;
    const isRemoved = origin.account?.isValid === false;
    if (!isRemoved && (code === 'loop' || code === 'forbidden')) {
      this.#logRefusal(origin, to, failure);
      return;
    }
    const slow = code === 'aborted' && clock.now() - startedAt >= SLOW_DIAL_MS && !this.stopped;
    if (slow && this.failures.enabled) {
      this.report(origin, to, resolved, 'no connection was made before the client left');
    } else if (!isRemoved && code === 'blocked') {
      this.#logBlocked(origin, to, resolved, failure);
    } else if (isRemoved || (code === 'aborted' && !this.#isFeature(to))) {
      if (log.enabled('debug')) {
        log.debug(
          failureLine(origin.inbound, to, resolved, failure.message),
          failureFields(origin, to, resolved, failure.message),
        );
      }
    } else if (this.failures.enabled) {
      this.report(origin, to, resolved, failure.message);
    }
  }

  /** Whether a destination stands for a feature, and the dial did not fail because of a stop. */
  #isFeature({ host }: Destination): boolean {
    return clientFeatureHint(host) !== undefined && !this.stopped;
  }

  /** Logs a failed flow, with a hint if its destination stands for a feature. */
  report(
    origin: Pick<Origin, 'inbound' | 'user' | 'source'>,
    to: Destination,
    resolved: Resolved,
    cause: string,
  ): void {
    const hint = clientFeatureHint(to.host);
    const text = hint === undefined ? cause : `${cause}; ${hint}`;
    this.failures.write(
      failureLine(origin.inbound, to, resolved, text),
      failureFields(origin, to, resolved, text),
    );
  }

  /** Logs a blocked flow, one line per minute for each rule and inbound: a page may request many blocked names. */
  #logBlocked(origin: Origin, to: Destination, resolved: Resolved, { message }: DialError): void {
    if (!this.#deps.log.enabled('info')) return;
    const { version, rule } = resolved;
    const line = failureLine(origin.inbound, to, resolved, message);
    const fields = failureFields(origin, to, resolved, message);
    this.#writeBlocked(`${origin.inbound} ${rule ?? ''} ${version.tag}`, line, fields);
  }

  #writeBlocked(key: string, line: string, fields: LogFields): void {
    const { log } = this.#deps;
    const note = this.#blocked.note(key);
    if (!note) {
      log.debug(line, fields);
      return;
    }
    const { suppressed, others } = note;
    const like = others ? 'of other rules' : 'like this';
    log.info(
      suppressed > 0 ? `${line}; ${suppressed} more ${like} since the last such line` : line,
      fields,
    );
  }

  /**
   * Logs a refusal, one line per minute for each destination: clients may request the proxy itself any number of times.
   */
  #logRefusal(
    { inbound, source, user }: Origin,
    to: Destination,
    { code, message }: DialError,
  ): void {
    const note = this.#refused.note(`${inbound} ${code} ${formatEndpoint(to)}`);
    if (!note) return;
    const more = note.suppressed > 0 ? ` (${note.suppressed} more since the last such line)` : '';
    this.#deps.log.warn(
      `${inbound} -> ${to.network} ${shownEndpoint(to)} for ${shownSource(source) ?? 'a local client'} refused: ${message}${more}`,
      {
        inbound,
        source: shownSource(source),
        user,
        host: shownHost(to.host),
        port: to.port,
        error: message,
      },
    );
  }
}
