import type { TcpEvent } from '../tcp/state.ts';
import type { TcpFlow } from './tcp-flow.ts';
import type { UdpEvent, UdpFlow } from './udp-flow.ts';

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
