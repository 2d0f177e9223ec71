import { KeptObjects } from '@weir/base/collections';
import { loadConfigFile } from '@weir/server/loading';
import { readStreamConfig } from '@weir/server/app/stream-config';
import { builtinOutbounds } from '@weir/config/load';
import { ConfigError, renderConfigError } from '@weir/config';
import { createResolver, loadExchange, type OwnedResolver } from '@weir/proxy/dns';
import { WeirError } from '@weir/base';
import { asDialError } from '@weir/proxy/engine';
import { silentLogger } from '@weir/base/log';
import type { Endpoint } from '@weir/io/addresses';
import { DialTimer } from '@weir/io';
import type { ByteLink } from '@weir/io/links';
import { OwnListeners } from '@weir/io/net/own-listeners';
import { systemSockets } from '@weir/io/sockets';
import { systemClock } from '@weir/io/time';
import { loadProtocols } from '@weir/proxy/protocols';
import type { OutboundSpec, Spec } from '@weir/proxy/spec';
import { buildOutbound, loadForOutbounds, type OutboundMakers } from '@weir/server/supervisor';
import { FlowError, type OpenedFlow, type OutboundFlows } from './outbound-flows.ts';

/**
 * Runs the outbounds of a configuration in this process, and nothing else of it: no inbound is bound, no API served, no
 * member of a balancer probed. Each flow has an outbound of its own, which ends with it, so that nothing is reused.
 */
export class OwnEngine implements OutboundFlows {
  readonly #spec: Spec;
  readonly #resolver: OwnedResolver;
  readonly #shared = new KeptObjects();
  readonly #ownListeners = new OwnListeners();
  readonly #stopped = new AbortController();
  readonly #open = new Set<ByteLink>();
  /** Keeps the process alive, which timers of the engine do not. */
  readonly #alive = setInterval(() => undefined, 2 ** 30);
  #versions = 0;

  private constructor(spec: Spec, resolver: OwnedResolver) {
    this.#spec = spec;
    this.#resolver = resolver;
  }

  /** @throws {WeirError} `not_loadable` */
  static async start(spec: Spec): Promise<OwnEngine> {
    await loadExchange(spec.dns);
    const deps = { clock: systemClock, log: silentLogger };
    return new OwnEngine(spec, createResolver(spec.dns, deps));
  }

  /** Opens a flow. Flows of a balancer take the first member that opens one. */
  async open(tag: string, target: Endpoint, signal: AbortSignal): Promise<OpenedFlow> {
    const { balancers } = this.#spec;
    const members = balancers.find((balancer) => balancer.tag === tag)?.outbounds ?? [tag];
    let failure: unknown;
    for (const member of members) {
      try {
        const spec = outboundNamed(this.#spec, member);
        if (!spec) throw new FlowError(`no outbound has the tag ${JSON.stringify(member)}`, {});
        return await this.#openBy(spec, target, signal);
      } catch (error) {
        failure = error;
        if (signal.aborted) break;
      }
    }
    throw failure;
  }

  async #openBy(spec: OutboundSpec, target: Endpoint, signal: AbortSignal): Promise<OpenedFlow> {
    const makers = await this.#load(spec);
    const { version } = buildOutbound(spec, ++this.#versions, makers, {
      clock: systemClock,
      log: silentLogger,
      resolver: this.#resolver,
      ownListeners: this.#ownListeners,
      shared: this.#shared,
      stopped: this.#stopped.signal,
    });
    const timer = new DialTimer(systemClock);
    version.hold();
    version.retire();
    try {
      const link = await version.outbound.connect(target, { signal, observe: timer.observe });
      timer.observe('opened');
      this.#open.add(link);
      void link.closed.then(() => {
        this.#open.delete(link);
        version.release();
      });
      const { suspect } = version.outbound;
      return { link, outbound: spec.tag, times: timer.times, suspect };
    } catch (error) {
      version.release();
      const { message, cause } = asDialError(error, signal, target);
      throw new FlowError(message, timer.times, { cause });
    }
  }

  /** Loads the modules of an outbound, before its dial is measured. */
  async #load(spec: OutboundSpec): Promise<OutboundMakers> {
    await loadProtocols([spec.protocol]);
    systemSockets();
    return loadForOutbounds([spec]);
  }

  /** Ends all flows. */
  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(
      [...this.#open].map((link) => {
        link.destroy();
        return link.closed;
      }),
    );
    this.#stopped.abort();
    this.#resolver.destroy();
    clearInterval(this.#alive);
  }
}

/**
 * Reads a configuration for its outbounds. The whole file must be valid, as for `run`.
 * @throws {WeirError} `configuration` with the place of the error
 */
export async function readSpec(path: string | undefined): Promise<Spec> {
  try {
    const bytes = path === undefined ? undefined : await readStreamConfig(path);
    return (await loadConfigFile(path, { bytes, serveApi: false })).spec;
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const message = `configuration invalid: ${renderConfigError(error)}`;
    throw new WeirError('configuration', message, { cause: error });
  }
}

/** Whether flows can be opened by this tag: an outbound, including a built-in one, or a balancer. */
export const hasExit = (spec: Spec, tag: string): boolean =>
  outboundNamed(spec, tag) !== undefined || spec.balancers.some((each) => each.tag === tag);

/** The outbound with this tag, including a built-in one that no route names. */
export const outboundNamed = ({ outbounds }: Spec, tag: string): OutboundSpec | undefined =>
  outbounds.find((outbound) => outbound.tag === tag) ??
  builtinOutbounds(new Set([tag]), new Set()).at(0);
