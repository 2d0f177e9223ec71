import type { RouteQuery } from '../engine/router/query.ts';
import { ipVersion } from '../net/addresses/address.ts';
import { suggestion } from '../schema/suggestion.ts';
import type { InboundSpec, Spec } from '../spec.ts';
import { UsageError } from '../errors.ts';
import type { ExplainedFlow } from './flow.ts';

/** The default client address: a program on this host. */
const LOCAL_CLIENT = '127.0.0.1';

/** The inbound with a tag; without a tag, the first one. @throws {UsageError} for an unknown inbound */
export function chooseInbound(
  { inbounds }: Spec,
  tag: string | undefined,
): InboundSpec | undefined {
  if (tag === undefined) return inbounds[0];
  const found = inbounds.find((inbound) => inbound.tag === tag);
  if (found) return found;
  const meant = suggestion(
    tag,
    inbounds.map((inbound) => inbound.tag),
  );
  const hint = meant === undefined ? '' : `; did you mean ${JSON.stringify(meant)}?`;
  throw new UsageError(`no inbound has the tag ${JSON.stringify(tag)}${hint}`);
}

/** The flow as a running Weir would present it to the router. */
export function queryOf(
  { destination, network, from, sniffed }: ExplainedFlow,
  inbound: InboundSpec | undefined,
): RouteQuery {
  const source = from ?? (inbound?.listen.kind === 'unix' ? undefined : LOCAL_CLIENT);
  const query = {
    inbound: inbound?.tag ?? '',
    source,
    network,
    ...destination,
    sniffed: undefined,
  };
  return sniffs(inbound, query) ? { ...query, sniffed } : query;
}

/** Whether the flow is sniffed: only TCP to an IP address. */
export const sniffs = (inbound: InboundSpec | undefined, { network, host }: RouteQuery): boolean =>
  inbound?.sniffing === true && network === 'tcp' && ipVersion(host) !== 0;
