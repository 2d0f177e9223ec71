import { WeirError } from '../../errors.ts';
import type { OpenedFlow, OutboundFlows } from '../../fetch/outbound-flows.ts';
import { RunningOutbounds } from '../../fetch/running-outbounds.ts';
import type { Endpoint } from '../../net/addresses/address.ts';
import type { WatchedWeir } from '../fact-reader.ts';

/** Opens flows through a running Weir, at its current control socket. */
export class FollowedOutbounds implements OutboundFlows {
  readonly #weir: Pick<WatchedWeir, 'socket'>;
  #last: { readonly socket: string; readonly flows: RunningOutbounds } | undefined;

  constructor(weir: Pick<WatchedWeir, 'socket'>) {
    this.#weir = weir;
  }

  /** @throws {WeirError} without a control socket */
  async open(outbound: string, target: Endpoint, signal: AbortSignal): Promise<OpenedFlow> {
    const { socket } = this.#weir;
    if (socket === undefined) throw new WeirError('no_socket', 'Weir has no control socket');
    if (this.#last?.socket !== socket) {
      await this[Symbol.asyncDispose]();
      this.#last = { socket, flows: new RunningOutbounds(socket) };
    }
    return this.#last.flows.open(outbound, target, signal);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#last?.flows[Symbol.asyncDispose]();
  }
}
