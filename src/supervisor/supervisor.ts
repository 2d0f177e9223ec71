import { Dispatcher } from '../engine/dispatcher.ts';
import { InboundRuntime } from '../engine/inbound-runtime.ts';
import { OutboundVersion } from '../engine/outbound-version.ts';
import type { Exit, Plane } from '../engine/plane.ts';
import { RegexCache } from '../engine/router/regex-set.ts';
import { Router } from '../engine/router/router.ts';
import { createSystemResolver } from '../dns/system-resolver.ts';
import type { Logger } from '../log/logger.ts';
import type { Clock } from '../net/clock.ts';
import { LinkClosedError } from '../net/errors.ts';
import type { Resolver } from '../net/resolver.ts';
import { inboundProtocol, outboundProtocol } from '../protocols/registry.ts';
import type { InboundSpec, OutboundSpec, Spec } from '../spec.ts';
import { Tracker } from '../tracker/tracker.ts';
import { dialTcp } from '../transports/dial.ts';
import { listenTcp, type Listener } from '../transports/tcp-listener.ts';

export interface SupervisorDeps {
  readonly clock: Clock;
  readonly log: Logger;
}

/** One inbound with what it listens on. */
interface RunningInbound {
  readonly runtime: InboundRuntime;
  readonly listener: Listener;
}

/** Turns a Spec into running resources, and stops them. */
export class Supervisor {
  readonly tracker: Tracker;
  readonly #deps: SupervisorDeps;
  readonly #dispatcher: Dispatcher;
  readonly #resolver: Resolver;
  readonly #regexes = new RegexCache();
  #inbounds: RunningInbound[] = [];
  #outbounds: OutboundVersion[] = [];
  #plane: Plane | undefined;
  #epoch = 0;

  constructor(deps: SupervisorDeps) {
    this.#deps = deps;
    this.tracker = new Tracker(deps.clock);
    this.#resolver = createSystemResolver({ clock: deps.clock });
    this.#dispatcher = new Dispatcher({
      tracker: this.tracker,
      clock: deps.clock,
      log: deps.log,
      plane: () => this.#currentPlane(),
    });
  }

  /** @throws {BindError} when a listener cannot be bound; what was bound before is closed again. */
  async start(spec: Spec): Promise<void> {
    this.#outbounds = spec.outbounds.map((outbound) => this.#buildOutbound(outbound));
    this.#plane = this.#buildPlane(spec);
    try {
      for (const inbound of spec.inbounds) this.#inbounds.push(await this.#openInbound(inbound));
    } catch (error) {
      await this.#closeListeners();
      throw error;
    }
    this.tracker.traffic.start();
  }

  /** Closes the listeners, waits up to `graceMs` for live sessions, then ends what is left. */
  async stop(graceMs: number): Promise<void> {
    await this.#closeListeners();
    const idle = Promise.all(this.#inbounds.map(({ runtime }) => runtime.whenIdle()));
    const { promise: graceOver, resolve } = Promise.withResolvers<void>();
    const timer = this.#deps.clock.after(graceMs, resolve);
    await Promise.race([idle, graceOver]);
    timer.cancel();
    this.#dispatcher.stop();
    for (const { runtime } of this.#inbounds) {
      runtime.destroy(new LinkClosedError('the proxy is stopping'));
    }
    await idle;
    for (const version of this.#outbounds) version.retire();
    this.tracker.traffic.stop();
  }

  #currentPlane(): Plane {
    if (!this.#plane) throw new RangeError('nothing is dispatched before the first plane is built');
    return this.#plane;
  }

  #buildPlane({ route }: Spec): Plane {
    const exits = new Map<string, Exit>();
    for (const version of this.#outbounds) exits.set(version.tag, { pick: () => version });
    return { epoch: ++this.#epoch, routes: new Router(route, { regexes: this.#regexes }), exits };
  }

  #buildOutbound(spec: OutboundSpec): OutboundVersion {
    const { clock, log } = this.#deps;
    const { tag, server, port, addressFamily: family } = spec;
    const upstream =
      server === undefined || port === undefined ? undefined : { host: server, port };
    const outbound = outboundProtocol(spec.protocol).create(spec.settings, {
      tag,
      family,
      resolver: this.#resolver,
      clock,
      log,
      server: upstream,
      dial: ({ signal }) => {
        if (!upstream) throw new RangeError(`outbound ${tag} has no server to dial`);
        return dialTcp(upstream, { resolver: this.#resolver, family, clock, signal });
      },
    });
    return new OutboundVersion(tag, 1, outbound);
  }

  async #openInbound(spec: InboundSpec): Promise<RunningInbound> {
    const { clock, log } = this.#deps;
    const handler = inboundProtocol(spec.protocol).create(spec.settings, {
      tag: spec.tag,
      sniffing: spec.sniffing,
      unixSocket: spec.listen.kind === 'unix',
      dispatcher: this.#dispatcher,
      clock,
      log,
    });
    const runtime = new InboundRuntime(spec.tag, handler, this.tracker, log);
    const listener = await listenTcp(spec.listen, runtime.accept);
    log.info(`inbound ${spec.tag} listening on ${listener.address}`);
    return { runtime, listener };
  }

  async #closeListeners(): Promise<void> {
    await Promise.all(this.#inbounds.map(({ listener }) => listener.close()));
  }
}
