import { Fifo } from '../../collections/fifo.ts';
import type { TcpFlow } from './tcp-flow.ts';
import { TimerWheel } from '../../collections/timer-wheel.ts';
import type { UdpFlow } from './udp-flow.ts';

/** A TCP connection or a UDP association of the stack. */
export type StackFlow = TcpFlow | UdpFlow;

/** The flows that have events for their owners, segments to send, or a deadline. */
export class FlowQueues {
  readonly wheel: TimerWheel<StackFlow>;
  readonly #eventful = new Fifo<StackFlow>();
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
    this.#eventful.push(flow);
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
