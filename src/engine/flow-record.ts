import { codeOf } from '../errors.ts';
import type { LogFields } from '../log/logger.ts';
import { formatEndpoint, type Destination, type Endpoint } from '../net/addresses/address.ts';
import { abortedDial, DialError, toDialError, TruncatedError } from '../net/errors.ts';
import type { RelayEnd } from '../net/links/relay.ts';
import type { Origin, PacketRequest, StreamRequest } from '../protocols/contract.ts';
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

/** What a log line says about any flow: the inbound, the destination and the outbound. */
const describe = (inbound: string, to: Destination, outbound: string): string =>
  `${inbound} -> ${to.network} ${formatEndpoint(to)} by ${outbound}`;

/** The rule that decided, as the API counts it. */
const describeRule = (rule: number | undefined): string =>
  rule === undefined ? 'default route' : `rule ${rule}`;

/** The debug line of a flow that has opened. */
export function openedLine({ id, info }: Flow): string {
  const { inbound, destination, outbound, rule, user, source } = info;
  const who = `${user === undefined ? '' : `user ${user}, `}from ${source ?? 'a local client'}`;
  return `flow ${id} ${describe(inbound, destination, outbound)} opened (${describeRule(rule)}, ${who})`;
}

/** The debug line of a flow that has closed, with its final counts. */
export const closedLine = ({ id, up, down }: Flow, failure?: Error): string =>
  `flow ${id} closed: ${up} bytes up, ${down} down${failure ? `; ${failure.message}` : ''}`;

/** The line of a flow, or of a dial, that has failed. */
export const failureLine = (
  inbound: string,
  to: Destination,
  { version, rule }: Pick<Resolved, 'version' | 'rule'>,
  cause: string,
): string => `${describe(inbound, to, version.tag)}: ${cause} (${describeRule(rule)})`;

/** What `failureLine` says, as fields. */
export const failureFields = (
  { inbound, user, source }: Pick<Origin, 'inbound' | 'user' | 'source'>,
  { host, port }: Endpoint,
  { version, rule }: Pick<Resolved, 'version' | 'rule'>,
  error: string,
): LogFields => ({ inbound, outbound: tagOf(version.tag), host, port, rule, user, source, error });

/** What `openedLine` and `closedLine` say, as fields. */
export const flowFields = ({ info }: Flow, failure?: Error): LogFields => ({
  inbound: info.inbound,
  outbound: tagOf(info.outbound),
  host: info.destination.host,
  port: info.destination.port,
  rule: info.rule,
  user: info.user,
  source: info.source,
  error: failure?.message,
});

/** The resolver of the proxy itself, which is no outbound, has the empty tag. */
const tagOf = (tag: string): string | undefined => (tag === '' ? undefined : tag);

/**
 * Why a flow has ended without a byte from its destination; `undefined` where the client is the only
 * reason: it left without having sent anything.
 *
 * @param suspect what a server that stays silent may mean by it: see `Outbound.suspect`
 */
export function causeOfSilence(
  sent: number,
  { failure, first, failed }: RelayEnd,
  suspect: string | undefined,
): string | undefined {
  if (first === 'client' && sent === 0) return undefined;
  const hint = suspect === undefined ? '' : `; ${suspect} looks like this`;
  if (failed === 'client') return `nothing came back before the client left${hint}`;
  if (!failure) {
    const what =
      first === 'client'
        ? 'nothing came back after the client had ended its side'
        : 'the server closed the connection without sending anything';
    return `${what}${hint}`;
  }
  if (codeOf(failure) === 'ECONNRESET') {
    return `the server reset the connection without sending anything${hint}`;
  }
  // Any other failure has its own reason, such as the status of a carrier's call.
  return failure instanceof TruncatedError ? `${failure.message}${hint}` : failure.message;
}

/** The reason of a dial that is aborted because its client has left. */
export const clientLeft = (): DialError => new DialError('aborted', 'the client has left');

/** The reason of a flow that is refused: since its session began, a reload has removed the account. */
export const accountRemoved = (): DialError =>
  new DialError('forbidden', 'the account has been removed');

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
