import { printable } from '@weir/base/printable';
import { WeirError, type WeirErrorOptions } from '@weir/base';
import type { Endpoint } from '@weir/io/addresses';
import type { DialTimes } from '@weir/io';
import type { ByteLink } from '@weir/io/links';

/** A flow opened through a named outbound, bypassing the rules. Its owner destroys the link. */
export interface OpenedFlow {
  readonly link: ByteLink;
  /** Tag of the outbound; for a balancer, that of the member it has picked. */
  readonly outbound: string;
  readonly times: DialTimes;
  /** See `Outbound.suspect`; `undefined` also where it is not known here. */
  readonly suspect: string | undefined;
}

/** An outbound failed to open a flow; the message is the reason. */
export class FlowError extends WeirError {
  /** Times of the steps that were completed. */
  readonly times: DialTimes;

  constructor(message: string, times: DialTimes, options?: WeirErrorOptions) {
    super('flow', printable(message), options);
    this.times = times;
  }
}

/** Opens flows through the outbounds of one configuration. */
export interface OutboundFlows extends AsyncDisposable {
  /**
   * @param outbound tag of an outbound, or of a balancer
   * @throws {FlowError} when opening has failed; waiting for it ends with `signal`
   */
  open(outbound: string, target: Endpoint, signal: AbortSignal): Promise<OpenedFlow>;
}
