import { messageOf } from '@weir/base';
import type { LogFields } from '@weir/base/log';
import { shownEndpoint, shownHost, shownSource } from '@weir/io/addresses';
import { abortedDial, type DialError } from '@weir/io';
import type { Clock } from '@weir/io/time';
import type { Origin, Outbound } from '../protocols/contract.ts';
import type { Hooks, RouteAnswer } from '../protocols/hooks.ts';
import type { FlowOutcomes } from '../tracker/flow-outcomes.ts';
import { failedHook, refusedByHook, unknownOutbound } from './dial-errors.ts';
import {
  chosenRoute,
  OutboundVersion,
  type Resolved,
  resolveRoute,
  type RoutingSnapshot,
  type RoutingTarget,
} from './routing-snapshot.ts';
import type { RouteQuery } from './router/query.ts';

export interface FlowRoutesDeps {
  readonly clock: Clock;
  /** Returns the current routing snapshot; called for every decision. */
  readonly snapshot: () => RoutingSnapshot;
  /** Returns the outbound or balancer with this tag, whether or not a rule names it. */
  readonly target: (tag: string) => RoutingTarget | undefined;
  /** The outbound to the proxy's own resolver. */
  readonly resolver: Outbound;
  /** The counts of flows that were not opened. */
  readonly outcomes: FlowOutcomes;
  /** The hooks of the host program, of which `route` is used here. */
  readonly hooks?: Hooks | undefined;
}

/** Writes the lines of flows that the host program has not routed. */
interface NotRoutedLog {
  failed(line: string, fields: LogFields): void;
  /** @param key lines with the same key are limited together */
  blocked(key: string, line: string, fields: LogFields): void;
}

/** How a flow is routed, if not by the rules or the hook of the host program. */
export interface RouteOptions {
  /** The tag of the outbound or balancer that the client has chosen. */
  readonly via?: string | undefined;
  /** Whether the destination is the proxy's own resolver. */
  readonly toResolver?: boolean | undefined;
  /** Aborts the wait for the hook, and the dial. */
  readonly signal?: AbortSignal | undefined;
}

/** The tag and version of the proxy's own resolver in the records of flows. */
const RESOLVER = { tag: '', version: 0 } as const;

/** Routes flows: by the outbound that their client has chosen, by the hook of the host program, or by the rules. */
export class FlowRoutes {
  readonly #deps: FlowRoutesDeps;
  readonly #log: NotRoutedLog;
  readonly #stopping: AbortSignal;
  readonly #resolver: OutboundVersion;

  /** @param stopping aborts when the process stops and waits for no hook. */
  constructor(deps: FlowRoutesDeps, log: NotRoutedLog, stopping: AbortSignal) {
    this.#deps = deps;
    this.#log = log;
    this.#stopping = stopping;
    this.#resolver = new OutboundVersion(RESOLVER.tag, RESOLVER.version, deps.resolver);
  }

  /** Whether the host program is asked about flows. */
  get asks(): boolean {
    return this.#deps.hooks?.route !== undefined;
  }

  /** Whether a route leads to the proxy's own resolver. */
  leadsToResolver({ version }: Resolved): boolean {
    return version === this.#resolver;
  }

  /** Returns the route of flows to the proxy's own resolver, on which no rule decides. */
  resolverRoute({ epoch }: RoutingSnapshot): Resolved {
    return { version: this.#resolver, rule: undefined, epoch };
  }

  /**
   * Routes a flow. Returns a promise if the host program takes time.
   * @throws {DialError} or rejects with it, for an outbound that does not exist, and for a flow that the hook refuses or
   * fails to decide on, which is logged and counted
   */
  route(
    query: RouteQuery,
    origin: Origin,
    options: RouteOptions = {},
  ): Resolved | Promise<Resolved> {
    const { snapshot, hooks } = this.#deps;
    const { via, toResolver } = options;
    if (toResolver === true) return this.resolverRoute(snapshot());
    if (via !== undefined) return this.#chosen(via);
    if (!hooks?.route) return resolveRoute(snapshot(), query);
    const onFailure = (error: unknown): never => {
      throw this.#notRouted(query, origin, error);
    };
    try {
      const answer = hooks.route.ask({ ...query, user: origin.user });
      if (!(answer instanceof Promise)) return this.#answered(answer, query);
      return this.#untilAborted(answer, options.signal)
        .then((routed) => this.#answered(routed, query))
        .catch(onFailure);
    } catch (error) {
      return onFailure(error);
    }
  }

  /** @throws {DialError} */
  #answered(answer: RouteAnswer, query: RouteQuery): Resolved {
    if (answer === undefined) return resolveRoute(this.#deps.snapshot(), query);
    if (typeof answer !== 'string') throw refusedByHook();
    return this.#chosen(answer);
  }

  /** Returns the route by the outbound that was chosen. @throws {DialError} `unknown_outbound` */
  #chosen(tag: string): Resolved {
    const target = this.#deps.target(tag);
    if (!target) throw unknownOutbound(tag);
    return chosenRoute(target, this.#deps.snapshot());
  }

  /** Counts and logs a flow that the host program has not routed. @returns the error for the client */
  #notRouted(query: RouteQuery, { inbound, user, source }: Origin, error: unknown): DialError {
    const failure = failedHook(error);
    const { code } = failure;
    if (code === 'aborted') return failure;
    const { outcomes, clock, snapshot } = this.#deps;
    const outcome = code === 'blocked' ? 'blocked' : 'failed';
    const { epoch } = snapshot();
    outcomes.refused(outcome, { rule: undefined, epoch, isChosen: true }, clock.now());
    // That of a HookError has the reason, which the client does not see.
    const message = messageOf(error);
    const line = `${inbound} -> ${query.network} ${shownEndpoint(query)}: ${message}`;
    const fields: LogFields = {
      inbound,
      host: shownHost(query.host),
      port: query.port,
      user,
      source: shownSource(source),
      error: message,
    };
    if (outcome === 'blocked') this.#log.blocked(`${inbound} hook`, line, fields);
    else this.#log.failed(line, fields);
    return failure;
  }

  /** Returns a promise that settles as `promise`, or rejects when a signal aborts. */
  #untilAborted<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
    const { promise: aborted, reject } = Promise.withResolvers<never>();
    const signals = signal ? [this.#stopping, signal] : [this.#stopping];
    const onAbort = (): void => {
      const first = signals.find((each) => each.aborted);
      if (first) reject(abortedDial(first));
    };
    for (const each of signals) each.addEventListener('abort', onAbort, { once: true });
    onAbort();
    return Promise.race([promise, aborted]).finally(() => {
      for (const each of signals) each.removeEventListener('abort', onAbort);
    });
  }
}
