import { requestStatus, servesFile, openTunnel, TunnelError } from '@weir/server/control';
import { WeirError } from '@weir/base';
import { meantHint } from '@weir/proxy/schema';
import type { Spec, OutboundSpec } from '@weir/proxy/spec';
import { type OutboundFlows, FlowError, type OpenedFlow } from './contract.ts';
import { KeptObjects } from '@weir/base/collections';
import { loadConfigFile } from '@weir/server/loading';
import { readStreamConfig } from '@weir/server/loading';
import { builtinOutbounds } from '@weir/config/load';
import { ConfigError, renderConfigError } from '@weir/config';
import { createResolver, loadExchange, type OwnedResolver } from '@weir/proxy/dns';
import { asDialError } from '@weir/proxy/engine';
import { silentLogger } from '@weir/base/log';
import { type Endpoint, formatEndpoint } from '@weir/io/addresses';
import { DialTimer } from '@weir/io';
import type { ByteLink } from '@weir/io/links';
import { OwnListeners } from '@weir/io/net/own-listeners';
import { systemSockets, SocketLink } from '@weir/io/sockets';
import { systemClock } from '@weir/io/time';
import { loadProtocols } from '@weir/proxy/protocols';
import { buildOutbound, loadForOutbounds, type OutboundMakers } from '@weir/server/supervisor';

/** The source of outbounds. */
export interface FlowSource {
  /** A configuration file. */
  readonly config?: string | undefined;
  /** The path of the control socket of a running Weir. */
  readonly socket?: string | undefined;
}

/** Flows through the outbounds of a configuration. */
export interface OpenedFlows extends AsyncDisposable {
  /** `running`: through the Weir of the socket; `own`: by this process. */
  readonly via: 'running' | 'own';
  readonly flows: OutboundFlows;
  /** The configuration, as currently in its file. */
  readonly spec: Spec;
  /** Remarks on how flows are opened: a line each, for standard error. */
  readonly notes: readonly string[];
}

/**
 * Opens flows through the running Weir of `socket` if it serves `config`, or if no file is named; otherwise by an
 * engine in this process, which ends when the result is disposed.
 *
 * @param tags the outbounds that will be used, for the notes
 * @throws {WeirError} for an invalid configuration, when there is neither a file nor a socket, when the running Weir
 * does not respond, or when an outbound does not exist
 */
export async function openFlows(
  { config, socket }: FlowSource,
  tags: (spec: Spec) => readonly string[],
): Promise<OpenedFlows> {
  const running = socket === undefined ? undefined : await runningConfig(socket);
  if (config === undefined && !running) {
    throw new WeirError(
      'no_configuration',
      'no running Weir was found, and --config names no file',
      {
        hint: '--config FILE takes the outbounds of a file, --socket PATH those of a running Weir',
      },
    );
  }
  const isServed = running && (config === undefined || (await servesFile(running, config)));
  const path = config ?? running?.config ?? undefined;
  const spec = await readSpec(path);
  const used = tags(spec);
  for (const tag of used) {
    if (!hasExit(spec, tag)) {
      throw new WeirError(
        'no_outbound',
        `no outbound or balancer has the tag ${JSON.stringify(tag)}`,
        {
          hint: meantHint(
            tag,
            [...spec.outbounds, ...spec.balancers].map(({ tag: own }) => own),
          ),
        },
      );
    }
  }
  if (isServed) {
    const flows = new RunningOutbounds(running.socket);
    const notes = [`through the running Weir (pid ${running.pid}, ${running.socket})`];
    return {
      via: 'running',
      flows,
      spec,
      notes,
      [Symbol.asyncDispose]: () => flows[Symbol.asyncDispose](),
    };
  }
  const flows = await OwnEngine.start(spec);
  const notes = [`by a process of its own from ${path ?? 'the built-in configuration'}`];
  const tunnels = used.filter((tag) => usesWireGuard(spec, tag));
  if (tunnels.length > 0) {
    notes.push(
      `warning: ${tunnels.join(', ')}: a running Weir with the same WireGuard key loses its session to this process for a while; --socket uses its own tunnel`,
    );
  }
  return {
    via: 'own',
    flows,
    spec,
    notes,
    [Symbol.asyncDispose]: () => flows[Symbol.asyncDispose](),
  };
}

async function runningConfig(socket: string) {
  const { pid, config } = await requestStatus(socket);
  return { socket, pid, config };
}

function usesWireGuard({ outbounds, balancers }: Spec, tag: string): boolean {
  const members = balancers.find((balancer) => balancer.tag === tag)?.outbounds ?? [tag];
  return outbounds.some((each) => each.protocol === 'wireguard' && members.includes(each.tag));
}

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
const hasExit = (spec: Spec, tag: string): boolean =>
  outboundNamed(spec, tag) !== undefined || spec.balancers.some((each) => each.tag === tag);

/** The outbound with this tag, including a built-in one that no route names. */
export const outboundNamed = ({ outbounds }: Spec, tag: string): OutboundSpec | undefined =>
  outbounds.find((outbound) => outbound.tag === tag) ??
  builtinOutbounds(new Set([tag]), new Set()).at(0);

/** Opens flows through the outbounds of a running Weir, by its control socket. */
export class RunningOutbounds implements OutboundFlows {
  readonly #socket: string;
  /**
   * Links of open flows. The control socket closes together with its last unread flow; nothing else would keep the
   * process alive.
   */
  readonly #open = new Set<SocketLink>();

  /** @param socket the path of the control socket */
  constructor(socket: string) {
    this.#socket = socket;
  }

  /** @throws {ControlRequestError} when the running Weir has ended */
  async open(outbound: string, target: Endpoint, signal: AbortSignal): Promise<OpenedFlow> {
    try {
      const { stream, opened } = await openTunnel(this.#socket, { outbound, ...target }, signal);
      const link = new SocketLink(stream);
      this.#open.add(link);
      void link.closed.then(() => this.#open.delete(link));
      const { times, suspect } = opened;
      return { link, outbound: opened.outbound, times, suspect: suspect ?? undefined };
    } catch (error) {
      if (!(error instanceof TunnelError)) throw error;
      // The caller knows target and outbound; only a balancer's member is new.
      const known = `${formatEndpoint(target)} by ${outbound}: `;
      const { message, times } = error;
      const reason = message.startsWith(known) ? message.slice(known.length) : message;
      throw new FlowError(reason, times, { cause: error });
    }
  }

  [Symbol.asyncDispose](): Promise<void> {
    for (const link of this.#open) link.destroy();
    return Promise.resolve();
  }
}
