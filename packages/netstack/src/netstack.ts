import { shownEndpoint, type Endpoint } from '@weir/io/addresses';
import { endpointText, type IpEndpoint, type PacketDevice } from '@weir/base/ip';
import { type Clock, type Defer, inNextTurn, TurnLoop } from '@weir/io/time';
import { abortedDial, DialError, LinkClosedError } from '@weir/io';
import { endInTurns, turnToEnd, type ByteLink, type PacketLink } from '@weir/io/links';
import { dialFailed, TcpFailedError, TcpLink, type TcpHost } from './flows/tcp-link.ts';
import { Stack, type RefusalReason, type StackOptions, type StackSettings } from './stack.ts';
import type { StackEvent } from './flows/flow-queues.ts';
import type { TcpFlow } from './flows/tcp-flow.ts';
import { type UdpFlow, UdpFlowLink, type UdpHost } from './flows/udp-flow.ts';
import { REQUESTS_A_TURN } from './limits.ts';

export type { RefusalReason, StackSettings } from './stack.ts';
export type { Trace } from './trace.ts';

/** A client's request for a connection. */
export interface ConnectionRequest {
  /** The client. */
  readonly source: Endpoint;
  /** The requested destination. */
  readonly destination: Endpoint;
  /** The connection. Nothing can be read or written before it is accepted, but it fails when the client resets it. */
  readonly link: ByteLink;
  /**
   * Completes the handshake.
   * @returns `link`, after the client's ACK; rejects when the connection fails before.
   */
  accept(): Promise<ByteLink>;
  /** Refuses the request instead of `accept`: the link fails. Without effect after `accept` or `refuse`. */
  refuse(reason: RefusalReason): void;
  /**
   * Resolves, never rejects, when the client has acknowledged everything, or the connection was aborted.
   * `link.closed` may resolve earlier: closing the stack then would reset the connection.
   */
  whenLeft(): Promise<void>;
}

/** A request for an association: a new client's datagrams. */
export interface AssociationRequest {
  /** The client. */
  readonly source: Endpoint;
  /**
   * The client's datagrams, the first one included, each with its destination as `peer`; datagrams sent on the link
   * reach the client as if from `peer`. The link ends after `udpIdle` without datagrams.
   */
  readonly link: PacketLink;
}

/** The requests of clients. The functions must not throw. */
export interface NetstackHandlers {
  readonly onConnection: (request: ConnectionRequest) => void;
  readonly onAssociation: (request: AssociationRequest) => void;
}

/** The device of a stack, its addresses, and what it takes from its user: time, random bytes and handlers. */
export interface NetstackOptions extends Omit<
  StackOptions,
  'output' | 'traits' | 'now' | 'maxHeld'
> {
  readonly device: PacketDevice;
  readonly clock: Clock;
  /** Handlers of requests; without them, requests are refused. */
  readonly handlers?: NetstackHandlers | undefined;
  /** Schedules turns: see `TurnLoopOptions.soon` and `later`; tests run turns themselves. */
  readonly soon?: Defer | undefined;
}

/**
 * The driver of a TCP/IP stack and of its device: links above, packets below. `close` releases the device.
 *
 * Packets from the device are handled as they arrive; after each batch the links get their events, pending segments are
 * sent, and the timer is set. Calls of the application take effect together, after the current callback; work that
 * exceeds the share of a turn continues in the next one.
 */
export class Netstack {
  /** Resolves, never rejects, when the device is released: with the error that closed it, if any. */
  readonly closed: Promise<Error | undefined>;
  readonly #device: PacketDevice;
  readonly #clock: Clock;
  readonly #stack: Stack;
  readonly #handlers: NetstackHandlers | undefined;
  readonly #turns: TurnLoop;
  readonly #host: TcpHost & UdpHost;
  readonly #later: Defer;
  /** Requests that may still be passed on in this turn of the event loop. */
  #requestsLeft = REQUESTS_A_TURN;
  #state: 'open' | 'closing' | 'closed' = 'open';

  constructor(options: NetstackOptions) {
    const { device, clock, handlers, soon, soon: later = inNextTurn } = options;
    this.#later = later;
    this.#device = device;
    this.#clock = clock;
    this.#handlers = handlers;
    const { output, traits } = device;
    this.#stack = new Stack({ ...options, output, traits, now: clock.now() });
    this.#turns = new TurnLoop({
      clock,
      handlers: {
        turn: () => this.#turn(),
        // A full output calls back when it has room.
        hasMore: () => (this.#stack.isReady && !this.#stack.isFull) || this.#stack.hasRequests,
        nextTimeout: () => this.#stack.nextTimeout(),
        onTimeout: (now) => this.#stack.onTimeout(now),
      },
      soon,
      later,
    });
    const { run } = this.#turns;
    this.#host = {
      clock,
      touch: (flow) => {
        this.#stack.tcp.touch(flow);
        this.#turns.schedule();
      },
      sendDatagram: (flow, data, peer) => {
        const isSent = this.#stack.udp.send(flow, data, peer, clock.now());
        if (isSent) this.#turns.schedule();
        return isSent;
      },
      refuseDatagrams: (flow, peer, reason) => {
        this.#stack.refuseDatagrams(flow, peer, reason, clock.now());
        this.#turns.schedule();
      },
      closeAssociation: (flow) => this.#stack.udp.close(flow),
    };
    this.closed = device.closed.then((cause) => {
      this.#onReleased(cause);
      return cause;
    });
    device.start({
      onPacket: (packet) => {
        if (this.#state !== 'open') return;
        const now = clock.now();
        this.#stack.receive(packet, now);
        // Datagrams of a burst, before they fill the queue.
        if (this.#stack.udp.takeCrowded()) this.#deliverAll(now);
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

  /** Number of TCP connections and UDP associations. */
  get flows(): number {
    return this.#stack.flows;
  }

  /** Numbers of received packets that were dropped, and of packets that the device did not send. */
  get dropped(): { readonly received: number; readonly sent: number } {
    return { received: this.#stack.dropped, sent: this.#device.dropped };
  }

  set settings(settings: StackSettings) {
    this.#stack.settings = settings;
  }

  /**
   * Connects to a destination from the own address of its family.
   *
   * @throws {DialError} `refused`, `timed_out`, `unreachable_host`, `unreachable_network` if there is no own address of
   * this family, `failed` if there is no room, or the reason of `signal`.
   */
  async connect(destination: IpEndpoint, signal: AbortSignal): Promise<ByteLink> {
    const target = endpointText(destination);
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
   * Opens an association of an own port, with any peers. When all ports are in use, the least active one is closed: see
   * `AssociationOrder`.
   *
   * @param client the address of the client that it is for; '' if there is none.
   * @throws {DialError} `failed` if there is no room, or the stack is closed.
   */
  bindUdp(client = ''): PacketLink {
    const now = this.#clock.now();
    const flow = this.#state === 'open' ? this.#stack.udp.bind(client, now) : undefined;
    // The link of an evicted association gets its event.
    this.#turns.schedule();
    if (flow === undefined) throw new DialError('failed', 'the stack has no room for another flow');
    return new UdpFlowLink(this.#host, flow);
  }

  /**
   * Resolves, never rejects, when lingering connections have closed, each within its time limit. Those in use must be
   * released first.
   */
  async whenLeft(): Promise<void> {
    const leaving: Promise<void>[] = [];
    for (const { owner } of this.#stack.tcp) if (owner) leaving.push(owner.leave());
    await Promise.all(leaving);
  }

  /**
   * Resets all connections, ends all associations, and releases the device; thousands of flows end in turns of the
   * event loop. Idempotent.
   */
  close(cause?: Error): void {
    if (this.#state !== 'open') return;
    this.#state = 'closing';
    this.#turns.stop();
    void this.#endAll(cause);
  }

  async #endAll(cause: Error | undefined): Promise<void> {
    const stack = this.#stack;
    const error = cause ?? new LinkClosedError('the stack is closed');
    for (const flow of [...stack.udp, ...stack.tcp]) {
      const turn = turnToEnd();
      if (turn) {
        this.#sendResets();
        await turn;
        // The device may have failed meanwhile, which ends the rest.
        if (this.#hasReleased()) return;
      }
      if (flow.network === 'udp') flow.owner?.close(cause);
      else flow.owner?.fail(error);
      stack.abort(flow, this.#clock.now());
    }
    this.#sendResets();
    this.#device.close(cause);
  }

  #hasReleased(): boolean {
    return this.#state === 'closed';
  }

  /** Sends resets. Those without room are lost: they cannot be sent later. */
  #sendResets(): void {
    const now = this.#clock.now();
    while (this.#stack.transmit(now) && !this.#stack.isFull);
    this.#device.flush();
  }

  #open(destination: IpEndpoint, target: Endpoint): TcpFlow {
    const where = shownEndpoint(target);
    if (this.#state !== 'open') throw new DialError('failed', `${where}: the stack is closed`);
    if (this.#stack.sourceFor(destination) === undefined) {
      throw new DialError('unreachable_network', `${where}: no address of this family`);
    }
    const flow = this.#stack.connect(destination, this.#clock.now());
    if (flow === undefined) throw new DialError('failed', `${where}: no room for another flow`);
    return flow;
  }

  /** Delivers events, and sends pending segments. */
  #turn(): void {
    const stack = this.#stack;
    const now = this.#clock.now();
    let hasMore: boolean;
    do {
      this.#deliverAll(now);
      hasMore = stack.transmit(now);
    } while (!hasMore && stack.hasEvents);
    this.#device.flush();
  }

  #deliverAll(now: number): void {
    const stack = this.#stack;
    for (;;) {
      const event = stack.nextEvent(now, this.#requestsLeft > 0);
      if (event === undefined) return;
      this.#deliver(event);
    }
  }

  /** Counts a request of this turn of the event loop, in which the loop of turns may run several times. */
  #countRequest(): void {
    if (this.#requestsLeft-- === REQUESTS_A_TURN) this.#later(this.#allowRequests);
  }

  readonly #allowRequests = (): void => {
    this.#requestsLeft = REQUESTS_A_TURN;
  };

  #deliver({ network, flow, event }: StackEvent): void {
    if (flow.owner === undefined) {
      // A request may have been evicted for another one before its event was delivered.
      if (event === 'requested' && network === 'tcp' && !flow.isForgotten) this.#onRequested(flow);
      else if (event === 'opened' && network === 'udp') this.#onOpened(flow);
    } else if (network === 'tcp') flow.owner.onEvent(event);
    else flow.owner.onEvent(event);
  }

  #onRequested(flow: TcpFlow): void {
    this.#countRequest();
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
      source: endpointText(flow.remote),
      destination: endpointText(flow.local),
      link,
      accept: async () => {
        if (decide()) {
          this.#stack.tcp.accept(flow);
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
      whenLeft: () => link.whenLeft(),
    });
  }

  #onOpened(flow: UdpFlow): void {
    this.#countRequest();
    const link = new UdpFlowLink(this.#host, flow);
    if (this.#handlers) this.#handlers.onAssociation({ source: endpointText(flow.remote), link });
    else link.close();
  }

  /** Called when the device is released. */
  #onReleased(cause: Error | undefined): void {
    this.#state = 'closed';
    this.#turns.stop();
    const error = cause ?? new LinkClosedError('the device is closed');
    void endInTurns([...this.#stack.udp, ...this.#stack.tcp], (flow) => {
      if (flow.network === 'udp') flow.owner?.close(cause);
      else flow.owner?.fail(error);
    });
  }
}
