import { printable } from '../printable.ts';
import { WeirError, type WeirErrorOptions } from '../errors.ts';
import type { Endpoint } from '../net/addresses/address.ts';
import type { DialTimes } from '../net/dial-steps.ts';
import type { ByteLink } from '../net/links/link.ts';

/** A flow that was opened on request, by no rule. Its owner destroys the link. */
export interface OpenedFlow {
  readonly link: ByteLink;
  /** Tag of the outbound: of the member that a balancer has picked. */
  readonly outbound: string;
  readonly times: DialTimes;
  /** See `Outbound.suspect`; `undefined` also where that is not known here. */
  readonly suspect: string | undefined;
}

/** An outbound has not opened a flow; the message is the reason. */
export class FlowError extends WeirError {
  /** The steps that were completed. */
  readonly times: DialTimes;

  constructor(message: string, times: DialTimes, options?: WeirErrorOptions) {
    super('flow', printable(message), options);
    this.times = times;
  }
}

/** Opens flows through the outbounds of one configuration, and nothing else of it. */
export interface OutboundFlows extends AsyncDisposable {
  /**
   * @param outbound tag of an outbound, or of a balancer
   * @throws {FlowError} when it has not opened one; the wait for it ends with `signal`
   */
  open(outbound: string, target: Endpoint, signal: AbortSignal): Promise<OpenedFlow>;
}
