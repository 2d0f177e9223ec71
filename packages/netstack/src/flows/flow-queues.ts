import { Fifo } from '@weir/base/collections';
import type { TcpFlow } from './tcp-flow.ts';
import { RequestKind } from './request-kind.ts';
import { TimerWheel } from '@weir/base/timers';
import type { UdpFlow, UdpEvent } from './udp-flow.ts';
import type { TcpEvent } from '../tcp/state.ts';

/** A TCP connection or a UDP association of the stack. */
type StackFlow = TcpFlow | UdpFlow;

/** The flows that have events for their owners, segments to send, or a deadline. */
export class FlowQueues {
  readonly wheel: TimerWheel<StackFlow>;
  readonly #eventful = new Fifo<StackFlow>();
  /** Flows of clients whose first event was not taken yet, by kind. */
  readonly #requests: readonly Fifo<StackFlow>[] = Object.values(RequestKind).map(
    () => new Fifo<StackFlow>(),
  );
  /** The kind whose turn it is. */
  #kind = 0;
  readonly #ready = new Fifo<TcpFlow>();

  constructor(now: number) {
    this.wheel = new TimerWheel(now);
  }

  /** Whether `nextReady` would return a connection. */
  get isReady(): boolean {
    return this.#ready.size > 0;
  }

  /** Queues a flow that may have events. */
  report(flow: StackFlow): void {
    if (flow.isEventful) return;
    flow.isEventful = true;
    const queue = flow.request === undefined ? undefined : this.#requests[flow.request];
    (queue ?? this.#eventful).push(flow);
  }

  /** Whether requests wait. */
  get hasRequests(): boolean {
    return this.#requests.some(({ size }) => size > 0);
  }

  /** Makes the next request, of each kind in turn, a flow with events. @returns whether there was one. */
  takeRequest(): boolean {
    for (let left = this.#requests.length; left > 0; left--) {
      const flow = this.#requests[this.#kind]?.shift();
      this.#kind = (this.#kind + 1) % this.#requests.length;
      if (flow === undefined) continue;
      flow.request = undefined;
      this.#eventful.push(flow);
      return true;
    }
    return false;
  }

  /** Queues a connection that may have events, and segments to send. */
  touch(flow: TcpFlow): void {
    if (flow.isForgotten) return;
    this.report(flow);
    this.queue(flow);
  }

  /** Queues a connection for sending, after all others. */
  queue(flow: TcpFlow): void {
    if (flow.isReady) return;
    flow.isReady = true;
    this.#ready.push(flow);
  }

  /** The first flow that may have events, unchanged until `done`. */
  get eventful(): StackFlow | undefined {
    return this.#eventful.peek();
  }

  /** Removes the first flow, which has no more events. */
  done(): void {
    const flow = this.#eventful.shift();
    if (flow !== undefined) flow.isEventful = false;
  }

  /** Removes and returns the connection whose turn it is to send. */
  nextReady(): TcpFlow | undefined {
    const flow = this.#ready.shift();
    if (flow !== undefined) flow.isReady = false;
    return flow;
  }
}

/** An event and its flow. The record is reused for the next event. */
export type StackEvent =
  | { readonly network: 'tcp'; readonly flow: TcpFlow; readonly event: TcpEvent }
  | { readonly network: 'udp'; readonly flow: UdpFlow; readonly event: UdpEvent };

type Mutable<Record> = { -readonly [key in keyof Record]: Record[key] };

/** One record for events of connections and one for those of associations, so that none is allocated per event. */
export class StackEventRecords {
  #tcp: Mutable<StackEvent & { network: 'tcp' }> | undefined;
  #udp: Mutable<StackEvent & { network: 'udp' }> | undefined;

  tcp(flow: TcpFlow, event: TcpEvent): StackEvent {
    const record = (this.#tcp ??= { network: 'tcp', flow, event });
    record.flow = flow;
    record.event = event;
    return record;
  }

  udp(flow: UdpFlow, event: UdpEvent): StackEvent {
    const record = (this.#udp ??= { network: 'udp', flow, event });
    record.flow = flow;
    record.event = event;
    return record;
  }
}
