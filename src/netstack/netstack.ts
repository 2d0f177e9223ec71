import type { RandomSource } from '../crypto/random-source.ts';
import { addressText, type IpEndpoint } from '../ip/ip-endpoint.ts';
import type { PacketDevice } from '../ip/packet-device.ts';
import { formatEndpoint, type Endpoint } from '../net/addresses/address.ts';
import type { Clock } from '../net/time/clock.ts';
import { TurnLoop, type Defer } from '../net/time/turn-loop.ts';
import { abortedDial, DialError, LinkClosedError } from '../net/errors.ts';
import type { ByteLink, PacketLink } from '../net/links/link.ts';
import { dialFailed, TcpFailedError } from './failures.ts';
import { Stack, type RefusalReason, type StackSettings } from './stack.ts';
import type { StackEvent } from './flows/stack-event.ts';
import type { TcpFlow } from './flows/tcp-flow.ts';
import { TcpLink, type TcpHost } from './flows/tcp-link.ts';
import type { Trace } from './trace.ts';
import type { UdpFlow } from './flows/udp-flow.ts';
import { UdpFlowLink, type UdpHost } from './flows/udp-flow-link.ts';

/** A client's request for a connection. */
export interface ConnectionRequest {
  /** The client. */
  readonly source: Endpoint;
  /** Where it wants to connect to. */
  readonly destination: Endpoint;
  /**
   * Its connection, which exists before it is accepted: nothing can be read or written yet, but it fails
   * when the client takes its request back.
   */
  readonly link: ByteLink;
  /**
   * Completes the handshake.
   * @returns `link`, when the client has responded. Rejects when the connection fails before that.
   */
  accept(): Promise<ByteLink>;
  /** Instead of `accept`: the link fails. Without effect after either of the two. */
  refuse(reason: RefusalReason): void;
}

/** A new client's datagrams. */
export interface AssociationRequest {
  /** The client. */
  readonly source: Endpoint;
  /**
   * Its datagrams, the first one included, each with its destination as `peer`; what is sent comes from
   * `peer` to the client. It ends when it was idle for `udpIdle`.
   */
  readonly link: PacketLink;
}

/** What a driver reports to its owner. The functions must not throw. */
export interface NetstackHandlers {
  readonly onConnection: (request: ConnectionRequest) => void;
  readonly onAssociation: (request: AssociationRequest) => void;
}

export interface NetstackOptions {
  readonly device: PacketDevice;
  readonly clock: Clock;
  readonly random: RandomSource;
  /**
   * 'any': the stack stands for every destination, and passes requests to the handlers. A list, of at most
   * one address of each family: connections begin here.
   */
  readonly addresses: 'any' | readonly IpEndpoint[];
  /** Addresses of all hosts of a network: what is sent there is dropped, as what is sent to groups. */
  readonly broadcasts?: readonly IpEndpoint[] | undefined;
  /** Instead of `MAX_BACKLOG`, where that is more: connections that are not established yet. */
  readonly maxBacklog?: number | undefined;
  /** Without, requests are refused. */
  readonly handlers?: NetstackHandlers | undefined;
  /** Whether segments are spread over the round trip: not where the path is this machine. */
  readonly isPaced: boolean;
  readonly settings: StackSettings;
  readonly trace?: Trace | undefined;
  /** Tests give their own turns of the event loop, for what was called and for what is left over. */
  readonly soon?: Defer | undefined;
}

/**
 * A TCP/IP stack on a device: links above, packets below. It owns the device.
 *
 * Packets that the device has read are handled as they come; after each batch the events are passed to the
 * links, what may leave is sent, and the timer is set. What the application calls is done together, when
 * it has returned; what exceeds the share of a turn of the event loop, in the next one.
 */
export class Netstack {
  /** Resolves, never rejects, when the device is released: with the error that closed it, if there was one. */
  readonly closed: Promise<Error | undefined>;
  readonly #device: PacketDevice;
  readonly #clock: Clock;
  readonly #stack: Stack;
  readonly #handlers: NetstackHandlers | undefined;
  readonly #turns: TurnLoop;
  readonly #host: TcpHost & UdpHost;
  #state: 'open' | 'closing' | 'closed' = 'open';

  constructor(options: NetstackOptions) {
    const { device, clock, handlers } = options;
    this.#device = device;
    this.#clock = clock;
    this.#handlers = handlers;
    const { random, addresses, broadcasts, maxBacklog, isPaced, settings, trace } = options;
    this.#stack = new Stack({
      output: device.output,
      traits: device.traits,
      now: clock.now(),
      random,
      addresses,
      broadcasts,
      maxBacklog,
      isPaced,
      settings,
      trace,
    });
    this.#turns = new TurnLoop({
      clock,
      handlers: {
        turn: () => this.#turn(),
        // A full output calls back when it has room.
        hasMore: () => this.#stack.isReady && !this.#stack.isFull,
        nextTimeout: () => this.#stack.nextTimeout(),
        onTimeout: (now) => this.#stack.onTimeout(now),
      },
      soon: options.soon,
      later: options.soon,
    });
    const { run } = this.#turns;
    const { udp } = this.#stack;
    this.#host = {
      clock,
      udp,
      touch: (flow) => {
        this.#stack.touch(flow);
        this.#turns.schedule();
      },
      refuseDatagrams: (flow, peer, reason) => {
        this.#stack.refuseDatagrams(flow, peer, reason, clock.now());
        this.#turns.schedule();
      },
      wake: () => this.#turns.schedule(),
    };
    this.closed = device.closed.then((cause) => {
      this.#onReleased(cause);
      return cause;
    });
    device.start({
      onPacket: (packet) => {
        const now = clock.now();
        this.#stack.receive(packet, now);
        // A burst of datagrams, before it fills its queue.
        if (this.#stack.udp.takeCrowded()) this.#passOn(now);
      },
      onDrained: run,
      onWritable: run,
      onTraits: () => {
        this.#stack.setTraits(device.traits, clock.now());
        run();
      },
      onPathRestored: () => {
        this.#stack.onPathRestored(clock.now());
        this.#turns.arm();
      },
    });
  }

  /** TCP connections and UDP associations. */
  get flows(): number {
    return this.#stack.flows;
  }

  /** Packets that were not used, and those that the device did not send. */
  get dropped(): { readonly received: number; readonly sent: number } {
    return { received: this.#stack.dropped, sent: this.#device.dropped };
  }

  set settings(settings: StackSettings) {
    this.#stack.settings = settings;
  }

  /**
   * Connects to a destination from the own address of its family.
   *
   * @throws {DialError} `refused`, `timed_out`, `unreachable_host`, `unreachable_network` where there is no
   *   own address of this family, `failed` where there is no room, or the reason of `signal`.
   */
  async connect(destination: IpEndpoint, signal: AbortSignal): Promise<ByteLink> {
    const target = { host: addressText(destination), port: destination.port };
    if (signal.aborted) throw abortedDial(signal, target);
    const link = new TcpLink(this.#host, this.#open(destination, target));
    this.#turns.schedule();
    const onAbort = (): void => link.destroy(abortedDial(signal, target));
    signal.addEventListener('abort', onAbort, { once: true });
    try {
      await link.established;
      return link;
    } catch (error) {
      throw error instanceof TcpFailedError ? dialFailed(error.failure, target, error) : error;
    } finally {
      signal.removeEventListener('abort', onAbort);
    }
  }

  /**
   * Opens an association of an own port, with any peers. Where all ports are in use, one that is less alive is
   * closed for it: see `AssociationOrder`.
   *
   * @param client whom it is for, by its address; '' where it has none.
   * @throws {DialError} `failed` where there is no room, or the stack is closed.
   */
  bindUdp(client = ''): PacketLink {
    const now = this.#clock.now();
    const flow = this.#state === 'open' ? this.#stack.udp.bind(client, now) : undefined;
    // One that gave way hears of it.
    this.#turns.schedule();
    if (flow === undefined) throw new DialError('failed', 'the stack has no room for another flow');
    return new UdpFlowLink(this.#host, flow);
  }

  /** Resets all connections, ends all associations, and releases the device. Idempotent. */
  close(cause?: Error): void {
    if (this.#state !== 'open') return;
    this.#state = 'closing';
    this.#turns.stop();
    const error = cause ?? new LinkClosedError('the stack is closed');
    for (const flow of this.#stack.udp) flow.owner?.close(cause);
    for (const flow of this.#stack.tcp) flow.owner?.fail(error);
    const now = this.#clock.now();
    this.#stack.abort(now);
    // What finds no room is lost: nothing is left that could send it again.
    while (this.#stack.transmit(now) && !this.#stack.isFull);
    this.#device.flush();
    this.#device.close(cause);
  }

  #open(destination: IpEndpoint, target: Endpoint): TcpFlow {
    const where = formatEndpoint(target);
    if (this.#state !== 'open') throw new DialError('failed', `${where}: the stack is closed`);
    if (this.#stack.sourceFor(destination) === undefined) {
      throw new DialError('unreachable_network', `${where}: no address of this family`);
    }
    const flow = this.#stack.connect(destination, this.#clock.now());
    if (flow === undefined) throw new DialError('failed', `${where}: no room for another flow`);
    return flow;
  }

  /** Passes events on, and sends what may leave. */
  #turn(): void {
    const stack = this.#stack;
    const now = this.#clock.now();
    let hasMore: boolean;
    do {
      this.#passOn(now);
      hasMore = stack.transmit(now);
    } while (!hasMore && stack.hasEvents);
    this.#device.flush();
  }

  #passOn(now: number): void {
    const stack = this.#stack;
    for (let event = stack.nextEvent(now); event !== undefined; event = stack.nextEvent(now)) {
      this.#deliver(event);
    }
  }

  #deliver({ network, flow, event }: StackEvent): void {
    if (flow.owner === undefined) {
      // A request may have given way to another one before it was passed on.
      if (event === 'requested' && network === 'tcp' && !flow.isForgotten) this.#onRequested(flow);
      else if (event === 'opened' && network === 'udp') this.#onOpened(flow);
    } else if (network === 'tcp') flow.owner.onEvent(event);
    else flow.owner.onEvent(event);
  }

  #onRequested(flow: TcpFlow): void {
    const handlers = this.#handlers;
    if (handlers === undefined) {
      this.#stack.refuse(flow, 'refused', this.#clock.now());
      return;
    }
    const link = new TcpLink(this.#host, flow);
    let isDecided = false;
    const decide = (): boolean => {
      const isFirst = !isDecided;
      isDecided = true;
      return isFirst && this.#state === 'open';
    };
    handlers.onConnection({
      source: textOf(flow.remote),
      destination: textOf(flow.local),
      link,
      accept: async () => {
        if (decide()) {
          this.#stack.accept(flow);
          this.#turns.schedule();
        }
        await link.established;
        return link;
      },
      refuse: (reason) => {
        if (!decide()) return;
        this.#stack.refuse(flow, reason, this.#clock.now());
        link.fail(new LinkClosedError('the request was refused'));
        this.#turns.schedule();
      },
    });
  }

  #onOpened(flow: UdpFlow): void {
    const link = new UdpFlowLink(this.#host, flow);
    if (this.#handlers) this.#handlers.onAssociation({ source: textOf(flow.remote), link });
    else link.close();
  }

  /** The device is released: nothing can be sent or received any more. */
  #onReleased(cause: Error | undefined): void {
    this.#state = 'closed';
    this.#turns.stop();
    const error = cause ?? new LinkClosedError('the device is closed');
    for (const flow of this.#stack.udp) flow.owner?.close(cause);
    for (const flow of this.#stack.tcp) flow.owner?.fail(error);
  }
}

const textOf = (endpoint: IpEndpoint): Endpoint => ({
  host: addressText(endpoint),
  port: endpoint.port,
});
