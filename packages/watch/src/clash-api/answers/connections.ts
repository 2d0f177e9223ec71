import type { RunningStatus } from '@weir/server/control';
import { ApiClientError } from '@weir/client/api';
import type { FlowView } from '@weir/server/api/views';
import type { ClashFacts } from '../translate/facts.ts';
import { clashSnapshot, type ClashTotals } from '../translate/connections.ts';
import {
  NO_CONTENT,
  ok,
  type ClashAnswer,
  type ClashContext,
  type ClashEndpoint,
  type ClashRequest,
} from './endpoint.ts';

async function getConnections(context: ClashContext): Promise<ClashAnswer> {
  const [facts, list] = await Promise.all([
    context.facts.read(),
    context.weir.api.ask('GET', '/v1/connections'),
  ]);
  const { flows } = list as { readonly flows: readonly FlowView[] };
  return ok(clashSnapshot(facts, flows, await totalsNow(context, facts)));
}

/**
 * Current totals, from the control socket, or otherwise from the stream of traffic, which begins with the next second.
 */
async function totalsNow({ live }: ClashContext, { status }: ClashFacts): Promise<ClashTotals> {
  // An older Weir has no totals in its status.
  const { traffic, memory }: Partial<RunningStatus> = status ?? {};
  if (traffic && memory) {
    return { up: traffic.up, down: traffic.down, memory: memory.resident };
  }
  using _use = live.use();
  await live.sampled();
  const { up = 0, down = 0 } = live.monitor.traffic ?? {};
  return { up, down, memory: memory?.resident ?? 0 };
}

const FLOW_ID = /^\d{1,20}$/;

/** Closes a flow. Like mihomo, it does not report that a connection is unknown. */
async function deleteConnection(
  { weir: { api } }: ClashContext,
  { parameters }: ClashRequest,
): Promise<ClashAnswer> {
  const { id = '' } = parameters;
  if (!FLOW_ID.test(id)) return NO_CONTENT;
  try {
    await api.ask('DELETE', `/v1/connections/${id}`);
  } catch (error) {
    const isGone =
      error instanceof ApiClientError && (error.status === 404 || error.status === 400);
    if (!isGone) throw error;
  }
  return NO_CONTENT;
}

async function deleteConnections({ weir: { api } }: ClashContext): Promise<ClashAnswer> {
  await api.ask('DELETE', '/v1/connections');
  return NO_CONTENT;
}

export const CONNECTION_ENDPOINTS: readonly ClashEndpoint[] = [
  { method: 'GET', path: '/connections', answer: getConnections },
  { method: 'DELETE', path: '/connections', answer: deleteConnections },
  { method: 'DELETE', path: '/connections/{id?}', answer: deleteConnection },
];
