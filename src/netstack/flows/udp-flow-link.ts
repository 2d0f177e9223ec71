import type { IpEndpoint } from '../../ip/ip-endpoint.ts';
import type { Endpoint } from '../../net/addresses/address.ts';
import type { Clock } from '../../net/time/clock.ts';
import { LinkClosedError } from '../../net/errors.ts';
import type { Packet, PacketLink, Unreachable } from '../../net/links/link.ts';
import type { UdpEvent, UdpFlow, UdpOwner } from './udp-flow.ts';
import type { UdpFlows } from './udp-flows.ts';

/** What a link needs of its stack. */
export interface UdpHost {
  readonly clock: Clock;
  readonly udp: Pick<UdpFlows, 'send' | 'close'>;
  /** Reports to the client of an association that its datagrams to `peer` go nowhere. */
  refuseDatagrams(flow: UdpFlow, peer: IpEndpoint, reason: Unreachable): void;
  /** A datagram was written, to be sent in the next turn. */
  wake(): void;
}

interface Taker {
  readonly take: (packet: Packet) => void;
  readonly ended: PromiseWithResolvers<void>;
}

/** A UDP association as a PacketLink. Received datagrams stay in the association's queue until they are taken. */
export class UdpFlowLink implements PacketLink, UdpOwner {
  readonly closed: Promise<Error | undefined>;
  readonly #host: UdpHost;
  readonly #flow: UdpFlow;
  readonly #resolveClosed: (cause: Error | undefined) => void;
  #waiter: PromiseWithResolvers<Packet | undefined> | undefined;
  /** Set while `receiveAll` is under way. */
  #taker: Taker | undefined;
  #isClosed = false;
  #cause: Error | undefined;

  constructor(host: UdpHost, flow: UdpFlow) {
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

  receive(): Promise<Packet | undefined> {
    if (this.#isPending) return Promise.reject(new LinkClosedError('a receive is already pending'));
    if (this.#cause) return Promise.reject(this.#cause);
    if (this.#isClosed) return Promise.resolve(undefined);
    const packet = this.#flow.take();
    if (packet !== undefined) return Promise.resolve(packet);
    this.#waiter = Promise.withResolvers();
    return this.#waiter.promise;
  }

  receiveAll(take: (packet: Packet) => void): Promise<void> {
    if (this.#isPending) return Promise.reject(new LinkClosedError('a receive is already pending'));
    if (this.#cause) return Promise.reject(this.#cause);
    if (this.#isClosed) return Promise.resolve();
    const ended = Promise.withResolvers<void>();
    this.#taker = { take, ended };
    this.#onReadable();
    return ended.promise;
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
    this.#cause = cause;
    this.#host.udp.close(this.#flow);
    const waiter = this.#waiter;
    this.#waiter = undefined;
    const ended = this.#taker?.ended;
    this.#taker = undefined;
    if (cause) {
      waiter?.reject(cause);
      ended?.reject(cause);
    } else {
      waiter?.resolve(undefined);
      ended?.resolve();
    }
    this.#resolveClosed(cause);
  }

  onEvent(event: UdpEvent): void {
    switch (event) {
      case 'opened':
        break;
      case 'readable':
        this.#onReadable();
        break;
      case 'expired':
        this.close();
        break;
      default:
        event satisfies never;
    }
  }

  get #isPending(): boolean {
    return this.#waiter !== undefined || this.#taker !== undefined;
  }

  #onReadable(): void {
    if (this.#taker) {
      this.#passOn(this.#taker);
      return;
    }
    const waiter = this.#waiter;
    if (waiter === undefined) return;
    const packet = this.#flow.take();
    if (packet === undefined) return;
    this.#waiter = undefined;
    waiter.resolve(packet);
  }

  /** Passes on all queued datagrams, unless the function closes the link or throws. */
  #passOn(taker: Taker): void {
    try {
      while (this.#taker === taker) {
        const packet = this.#flow.take();
        if (packet === undefined) return;
        taker.take(packet);
      }
    } catch (error) {
      this.#taker = undefined;
      taker.ended.reject(error);
    }
  }
}
