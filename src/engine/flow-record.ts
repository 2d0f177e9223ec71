import type { Logger } from '../log/logger.ts';
import { formatEndpoint, type Destination, type Endpoint } from '../net/address.ts';
import { abortedDial, DialError, toDialError } from '../net/errors.ts';
import type { PacketRequest, StreamRequest } from '../protocols/contract.ts';
import type { Flow, FlowInfo } from '../tracker/flow.ts';
import type { Resolved } from './plane.ts';

/** The record of a flow that `resolved` carries for the client of `request`. */
export function flowInfo(
  request: StreamRequest | PacketRequest,
  destination: Destination,
  sniffed: string | undefined,
  { version, rule, epoch }: Resolved,
): FlowInfo {
  const { inbound, user, source, session } = request.origin;
  return {
    session,
    inbound,
    user,
    source,
    destination,
    sniffed,
    outbound: version.tag,
    outboundVersion: version.version,
    rule,
    planeEpoch: epoch,
  };
}

/** The inbound, destination and outbound of a flow, for log lines. */
export const describe = ({ info }: Flow): string =>
  `${info.inbound} -> ${info.destination.network} ${formatEndpoint(info.destination)} by ${info.outbound}`;

/** The reason of a dial that is aborted because its client has left. */
export const clientLeft = (): DialError => new DialError('aborted', 'the client has left');

/** Characters of an invalid host that an error quotes. */
const SHOWN = 256;

/** The failure of a destination whose host is invalid: no rule could match it. */
export const notAHost = (host: string): DialError =>
  new DialError('not_found', `${JSON.stringify(host.slice(0, SHOWN))} is not a host name`);

/**
 * An outbound may raise any error for an abort; the signal has the reason. An error of the same kind
 * is more precise: it names the server that did not respond.
 */
export function asDialError(error: unknown, signal: AbortSignal, target: Endpoint): DialError {
  if (!signal.aborted) return toDialError(error, target);
  const aborted = abortedDial(signal, target);
  return error instanceof DialError && error.code === aborted.code ? error : aborted;
}

/** Failures are logged at `info`; what the configuration or the client caused is for debugging. */
export function logDialFailure(
  log: Logger,
  { inbound, network, host, port }: { inbound: string; network: string } & Endpoint,
  outbound: string,
  failure: DialError,
): void {
  const line = `${inbound} -> ${network} ${formatEndpoint({ host, port })} by ${outbound}: ${failure.message}`;
  if (failure.code === 'blocked' || failure.code === 'aborted') log.debug(line);
  else log.info(line);
}
