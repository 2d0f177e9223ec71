import { asError } from '@weir/base';
import type { PacketDevice } from '@weir/base/ip';
import { TappedDevice } from '@weir/base/ip/packet-device';
import { type RandomSource, SystemRandomSource } from '@weir/base/random';
import type { Endpoint } from '@weir/io/addresses';
import { DialError, type DialErrorCode } from '@weir/io';
import { type Sockets, systemSockets, type TunEvents } from '@weir/io/sockets';
import type { TunPlan } from '@weir/io/sockets';
import { UDP_IDLE_MS } from '@weir/io/time';
import {
  type AssociationRequest,
  type ConnectionRequest,
  Netstack,
  type RefusalReason,
  type StackSettings,
  type Trace,
} from '@weir/netstack';
import { LogLimiter } from '@weir/io/pace';
import type { ByteLink, PacketLink } from '@weir/io/links';
import { type SystemResolver, systemResolvers } from '../../dns/system/system-resolvers.ts';
import type { ListenSpec } from '../../spec.ts';
import { BindError } from '../../transports/listeners/bind.ts';
import type {
  InboundContext,
  Origin,
  SessionRegistry,
  SessionListener,
  SessionServer,
} from '../contract.ts';
import { SessionListenerBase } from '../inbounds/session-listener-base.ts';
import { broadcastAddresses, LocalResolver, ResolverAddresses } from './local-resolver.ts';
import { coversDefaultRoute, resolverWarning } from './system-resolver.ts';
import type { TunSettings } from './settings.ts';

/** The system services that a device's server uses; tests substitute them. */
interface TunMeans {
  /** Returns the process's limit on open files; see `Sockets`. */
  readonly descriptorLimit: () => number;
  /** Takes a descriptor for a dial; see `Sockets`. */
  readonly takeRoomForDial: () => boolean;
  /**
   * Creates the device.
   * @throws the reason why the device cannot be created.
   */
  readonly open: (plan: TunPlan, events: TunEvents) => PacketDevice;
  readonly random: RandomSource;
  /** Sockets for packets that the kernel delivers without the device. */
  readonly sockets: Pick<Sockets, 'listen' | 'bindUdp'>;
  /** Returns the route of this host's programs to an address; see `Sockets`. */
  readonly programRoute: Sockets['programRoute'];
  /** Returns the DNS servers that programs of this host use. Never rejects. */
  readonly systemResolvers: () => Promise<readonly SystemResolver[]>;
}

const SYSTEM: TunMeans = {
  descriptorLimit: () => systemSockets().descriptorLimit,
  takeRoomForDial: () => systemSockets().takeRoomForDial(),
  open: (plan, events) => systemSockets().openTun(plan, events),
  random: new SystemRandomSource(),
  sockets: {
    listen: (where, options) => systemSockets().listen(where, options),
    bindUdp: (options) => systemSockets().bindUdp(options),
  },
  programRoute: (host) => systemSockets().programRoute(host),
  systemResolvers,
};

/** Share of all descriptors for a device's pending dials: a dial to a silent network keeps its descriptor for 10 s. */
const PENDING_DIALS = 1 / 8;

/** Serves the flows of a device under one set of settings. */
export class TunServer implements SessionServer {
  readonly context: InboundContext;
  readonly settings: TunSettings;
  readonly resolver: ResolverAddresses;
  readonly #means: TunMeans;

  constructor(settings: TunSettings, context: InboundContext, means = SYSTEM) {
    this.settings = settings;
    this.context = context;
    this.resolver = new ResolverAddresses(settings.addresses);
    this.#means = means;
  }

  /** Takes a descriptor for a dial; returns false when there is none. */
  takeRoomForDial(): boolean {
    return this.#means.takeRoomForDial();
  }

  /** Maximum number of connections that wait for their dial or their client. */
  get maxBacklog(): number {
    return Math.floor(this.#means.descriptorLimit() * PENDING_DIALS);
  }

  /**
   * Logs a warning when the device covers the default route and programs of this host use DNS
   * servers other than `[dns]`. Never rejects.
   */
  async checkSystemResolver(): Promise<void> {
    const { systemResolvers, programRoute } = this.#means;
    if (!coversDefaultRoute(this.settings.routes)) return;
    const warning = resolverWarning(this.settings, await systemResolvers(), programRoute);
    const { log, tag } = this.context;
    if (warning !== undefined) log.warn(`inbound ${tag}: ${warning}`);
    else
      log.debug(`inbound ${tag}: no server that programs of this host ask for names is past [dns]`);
  }

  /** Log lines about the device, which may outlive this server. */
  get #events(): TunEvents {
    const { log, tag } = this.context;
    return {
      onRestored: (device, what) =>
        log.warn(
          `inbound ${tag}: another program has changed the device ${device}; restored: ${what.join(', ')}`,
          { inbound: tag },
        ),
      onManyRoutes: (most) =>
        log.warn(
          `inbound ${tag}: the system has more than ${most} routes; Weir's own connections may not find the best of them`,
          { inbound: tag },
        ),
      onUnrestored: (device, reason) =>
        log.error(
          `inbound ${tag}: another program has changed the device ${device}, which cannot be restored for now: ${reason}`,
          { inbound: tag, error: reason },
        ),
    };
  }

  async bind(
    listen: ListenSpec,
    sessions: SessionRegistry,
    signal?: AbortSignal,
  ): Promise<SessionListener> {
    if (listen.kind !== 'none') throw new RangeError('a TUN inbound has no address');
    signal?.throwIfAborted();
    const { name, mtu, addresses, routes } = this.settings;
    let device: PacketDevice;
    try {
      device = this.#means.open({ name, mtu, addresses, routes }, this.#events);
    } catch (error) {
      throw new BindError(`the TUN device${name === undefined ? '' : ` ${name}`}`, error);
    }
    const { capture, tag } = this.context;
    if (capture) device = new TappedDevice(device, capture.tap(`${tag} ${device.name}`));
    const listener = new TunListener(device, this.#means.random, this, sessions);
    await listener.bindResolver(this.#means.sockets);
    return listener;
  }
}

/** A bound device, and the flows of the programs whose packets it delivers. */
class TunListener extends SessionListenerBase<TunServer> {
  readonly address: string;
  readonly endpoint = undefined;
  readonly closed: Promise<void>;
  readonly #device: PacketDevice;
  readonly #random: RandomSource;
  readonly #limited: LogLimiter;
  readonly #resolver: LocalResolver;
  /** The TCP/IP stack; `undefined` before `serve`. */
  #stack: Netstack | undefined;
  #flows = 0;

  constructor(
    device: PacketDevice,
    random: RandomSource,
    server: TunServer,
    registry: SessionRegistry,
  ) {
    super(TunServer, server, registry);
    this.#device = device;
    this.#random = random;
    this.#limited = new LogLimiter(server.context.clock);
    this.address = device.name;
    this.#resolver = new LocalResolver({
      takes: (network) =>
        this.isServing && (network === 'tcp' || this.server.settings.udp !== undefined),
      onConnection: (source, destination, link) => this.#serveQueries(source, destination, link),
      onAssociation: (source, link) => this.#serveAssociation(source, link),
      onUnbound: (where, reason) => {
        const { log, tag } = this.server.context;
        log.warn(
          `inbound ${tag}: programs of this host are not answered at ${where}, only at the other addresses of its subnet: ${reason}`,
          { inbound: tag, error: reason },
        );
      },
    });
    this.closed = device.closed.then((cause) => {
      if (!this.markReleased()) return;
      this.#resolver.close();
      const { log, tag } = this.server.context;
      log.error(`inbound ${tag}: the device ${this.address} has failed: ${cause?.message}`, {
        inbound: tag,
        error: cause?.message,
      });
    });
  }

  /** Binds the DNS service at the device's own addresses; the service responds once `serve` was called. */
  bindResolver(sockets: Pick<Sockets, 'listen' | 'bindUdp'>): Promise<void> {
    return this.#resolver.bind(sockets, this.server.settings.addresses);
  }

  protected get isIdle(): boolean {
    return this.#flows === 0;
  }

  protected onServe(): void {
    const { clock, log } = this.server.context;
    this.#stack = new Netstack({
      device: this.#device,
      clock,
      random: this.#random,
      addresses: 'any',
      maxBacklog: this.server.maxBacklog,
      broadcasts: broadcastAddresses(this.server.settings.addresses),
      handlers: {
        onConnection: (request) => void this.#onConnection(request),
        onAssociation: (request) => void this.#onAssociation(request),
      },
      // The programs are on this machine, or on a private network.
      isPaced: false,
      settings: stackSettings(this.server.settings),
      trace: log.enabled('debug') ? this.#trace : undefined,
    });
    this.#resolver.serve();
    // Once for a device, and not before `serve`: by then the routes of all devices are installed.
    void this.server.checkSystemResolver();
  }

  protected onSwap(): void {
    if (this.#stack) this.#stack.settings = stackSettings(this.server.settings);
  }

  protected onRelease(cause?: Error): void {
    this.#resolver.close();
    if (this.#stack) this.#stack.close(cause);
    else this.#device.close();
  }

  async #onConnection(request: ConnectionRequest): Promise<void> {
    const { source, destination, link } = request;
    if (!this.isServing) {
      request.refuse('refused');
      return;
    }
    const { context, resolver } = this.server;
    const toResolver = resolver.has(destination);
    if (!toResolver && !this.server.takeRoomForDial()) {
      // The client retransmits its SYN, which then is another request.
      request.refuse('timeout');
      this.#report('descriptors');
      return;
    }
    const end = this.#hold((cause) => link.destroy(cause));
    try {
      await context.dispatcher.stream({
        origin: this.#originOf(source),
        destination,
        sniff: context.sniffing,
        toResolver,
        client: link,
        accept: () => request.accept(),
      });
    } catch (error) {
      request.refuse(refusalOf(error));
    }
    await link.closed;
    // The last bytes may still be in flight: releasing the device now would reset the connection.
    await request.whenLeft();
    end();
  }

  async #onAssociation({ source, link }: AssociationRequest): Promise<void> {
    if (!this.isServing) {
      link.close();
      return;
    }
    await this.#serveAssociation(source, link);
  }

  async #serveAssociation(source: Endpoint, link: PacketLink): Promise<void> {
    const { context, resolver } = this.server;
    const end = this.#hold((cause) => link.close(cause));
    try {
      await context.dispatcher.packets({
        origin: this.#originOf(source),
        client: link,
        isResolver: (peer) => resolver.has(peer),
        endsWithFlows: true,
      });
    } finally {
      end();
    }
  }

  /** Serves a connection of a program of this host to the DNS service. Never rejects. */
  async #serveQueries(source: Endpoint, destination: Endpoint, link: ByteLink): Promise<void> {
    const { context } = this.server;
    const end = this.#hold((cause) => link.destroy(cause));
    try {
      await context.dispatcher.stream({
        origin: this.#originOf(source),
        destination,
        sniff: false,
        toResolver: true,
        client: link,
        accept: () => Promise.resolve(link),
      });
      await link.closed;
    } catch (error) {
      link.destroy(asError(error));
    } finally {
      end();
    }
  }

  #originOf({ host }: Endpoint): Origin {
    const { tag } = this.server.context;
    return { inbound: tag, source: host, user: undefined, session: undefined };
  }

  /** Counts a flow until the returned function is called. */
  #hold(destroy: (cause: Error) => void): () => void {
    const release = this.registry.hold(destroy);
    this.#flows++;
    return () => {
      this.#flows--;
      release();
      this.releaseIfIdle();
    };
  }

  readonly #trace: Trace = (event) => {
    if (event.kind !== 'packet-dropped') return;
    if (isReported(event.reason)) this.#report(event.reason);
  };

  #report(reason: keyof typeof REPORTED): void {
    const note = this.#limited.note(reason);
    if (!note) return;
    const { context, settings } = this.server;
    const line = REPORTED[reason](settings);
    const more = note.suppressed > 0 ? ` (${note.suppressed} more since the last such line)` : '';
    context.log.debug(`inbound ${context.tag}: ${line}${more}`);
  }
}

/** Logged texts for reasons of the stack to drop packets. */
const REPORTED = {
  'flow limit': ({ maxFlows }: TunSettings) =>
    `a new flow was dropped: max_flows (${maxFlows}) is reached`,
  evicted: ({ maxFlows }: TunSettings) =>
    `a flow has ended for a new one: max_flows (${maxFlows}) is reached`,
  'brief associations': () =>
    'a UDP association has ended for a new one, or a new one was dropped: too many have no response, or a single one',
  backlog: () => 'a new flow was dropped: too many connections wait for their destinations',
  descriptors: () => 'a new flow was dropped: this process has too many open files',
  returned: () => 'a datagram to a client was dropped: it was routed back to the device',
} as const;

const isReported = (reason: string): reason is keyof typeof REPORTED =>
  Object.hasOwn(REPORTED, reason);

const stackSettings = ({ udp, maxFlows }: TunSettings): StackSettings => ({
  maxFlows,
  udp: udp !== undefined,
  udpIdle: udp ? Math.min(udp.idleSeconds * 1000, UDP_IDLE_MS) : 0,
});

/** The refusal that a program receives when its destination was not reached: as if it had dialled directly. */
const REFUSALS: Readonly<Partial<Record<DialErrorCode, RefusalReason>>> = {
  unreachable_host: 'host unreachable',
  not_found: 'host unreachable',
  unresolved: 'host unreachable',
  unreachable_network: 'network unreachable',
  timed_out: 'timeout',
};

const refusalOf = (error: unknown): RefusalReason =>
  (error instanceof DialError && REFUSALS[error.code]) || 'refused';
