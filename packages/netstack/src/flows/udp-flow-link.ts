import type { IpEndpoint } from '@weir/base/ip';
import type { Endpoint } from '@weir/io/addresses';
import type { Clock } from '@weir/io/time';
import { type Packet, type PacketLink, type Unreachable, ReceivingPackets } from '@weir/io/links';
import type { UdpEvent, UdpFlow, UdpOwner } from './udp-flow.ts';
import type { UdpFlows } from './udp-flows.ts';

/** The stack of a link, as seen by the link. */
export interface UdpHost {
  readonly clock: Clock;
  readonly udp: Pick<UdpFlows, 'send' | 'close'>;
  /** Reports to the client of an association that `peer` is unreachable. */
  refuseDatagrams(flow: UdpFlow, peer: IpEndpoint, reason: Unreachable): void;
  /** Schedules the sending of a written datagram in the next turn. */
  wake(): void;
}

/** A UDP association as a PacketLink. Received datagrams stay in the association's queue until they are taken. */
export class UdpFlowLink extends ReceivingPackets implements PacketLink, UdpOwner {
  readonly closed: Promise<Error | undefined>;
  readonly #host: UdpHost;
  readonly #flow: UdpFlow;
  readonly #resolveClosed: (cause: Error | undefined) => void;
  #isClosed = false;

  constructor(host: UdpHost, flow: UdpFlow) {
    super();
    this.#host = host;
    this.#flow = flow;
    const { promise, resolve } = Promise.withResolvers<Error | undefined>();
    this.closed = promise;
    this.#resolveClosed = resolve;
    flow.owner = this;
  }

  get dropped(): number {
    return this.#flow.dropped;
  }

  send({ data, peer }: Packet): void {
    const flow = this.#flow;
    const numbers = flow.peers.numbers(peer);
    const isSent =
      numbers !== undefined && this.#host.udp.send(flow, data, numbers, this.#host.clock.now());
    if (isSent) this.#host.wake();
    else flow.dropped++;
  }

  refuse(peer: Endpoint, reason: Unreachable): void {
    const flow = this.#flow;
    const numbers = flow.peers.numbers(peer);
    if (numbers === undefined || this.#isClosed || !flow.isClient) return;
    this.#host.refuseDatagrams(flow, numbers, reason);
  }

  close(cause?: Error): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#host.udp.close(this.#flow);
    this.endReceiving(cause);
    this.#resolveClosed(cause);
  }

  onEvent(event: UdpEvent): void {
    switch (event) {
      case 'opened':
        break;
      case 'readable':
        this.passWaiting();
        break;
      case 'expired':
        this.close();
        break;
      default:
        event satisfies never;
    }
  }

  protected override shift(): Packet | undefined {
    return this.#flow.take();
  }
}
