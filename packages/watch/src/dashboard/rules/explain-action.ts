import { formatEndpoint } from '@weir/io/addresses';
import { ActionError, Parameters } from '../parameters.ts';
import type { DashboardContext, PageAction } from '../contract.ts';
import type { FileModel } from '../reader/file-model.ts';
import type { FlowWanted } from '../reader/file-requests.ts';
import { commandLine } from '../shared/texts.ts';
import type { JsonValue } from '../shared/protocol.ts';
import type { FlowView } from '@weir/server/api/views';
import type { ExplainResult } from './view.ts';

type ExplainContext = Pick<DashboardContext, 'monitor'>;

/** The action `explain`: the route of a flow, and why it is taken. It changes nothing. */
export const explainAction = (context: ExplainContext, file: FileModel): PageAction => ({
  name: 'explain',
  changes: false,
  run: async (value, signal): Promise<ExplainResult> => {
    const { asked, flow } = flowOf(value, context);
    const { path } = file;
    // This reads changed files again, so their state is requested afterwards.
    const explained = await file.worker.ask('explain', { ...file.ofFile, ...asked }, signal);
    await file.look();
    return {
      file: file.state,
      ...explained,
      actual: flow ? actualOf(flow, explained, context, file) : null,
      command: commandOf(asked, path),
    };
  },
});

interface AskedFlow {
  readonly asked: FlowWanted;
  /** A flow of the running Weir; `undefined` for one given as text. */
  readonly flow: FlowView | undefined;
}

/** The flow that the parameters describe. @throws {ActionError} */
function flowOf(value: JsonValue, { monitor }: ExplainContext): AskedFlow {
  const parameters = new Parameters(value);
  const first = parameters.count('first', Number.MAX_SAFE_INTEGER) ?? 0;
  const id = parameters.count('flow', Number.MAX_SAFE_INTEGER);
  if (id === undefined) {
    const optional = (name: string): string | undefined => parameters.text(name, '') || undefined;
    const asked = {
      to: parameters.text('to').trim(),
      from: optional('from'),
      inbound: optional('inbound'),
      network: optional('network'),
      sniffed: optional('sniffed'),
      first,
    };
    return { asked, flow: undefined };
  }
  const flow = monitor.flows.get(id)?.view;
  if (!flow) throw new ActionError('not-found', 'this connection is closed and no longer listed');
  if (flow.network !== 'tcp' && flow.network !== 'udp') {
    throw new ActionError('not-found', 'no rule decides about a connection of this kind');
  }
  const asked = {
    to: formatEndpoint(flow),
    from: flow.source ?? undefined,
    inbound: flow.inbound,
    network: flow.network,
    sniffed: flow.sniffed ?? undefined,
    first,
  };
  return { asked, flow };
}

/** How a flow was actually routed, and why that may differ from the current file. */
function actualOf(
  flow: FlowView,
  { rule, target }: Pick<ExplainResult, 'rule' | 'target'>,
  { monitor }: ExplainContext,
  file: FileModel,
): ExplainResult['actual'] {
  const { outbound, rule: taken } = flow;
  const isMember = target.kind === 'balancer';
  const isSame = taken === rule && (isMember || outbound === target.tag);
  return { outbound, rule: taken, difference: isSame ? null : reason() };

  function reason(): string {
    const { state } = file;
    if (state.kind === 'read' && (state.freshness === 'changed' || state.freshness === 'refused')) {
      return 'The files differ from what Weir has loaded.';
    }
    const since = monitor.status?.value.routes.rules_since;
    if (since !== undefined && flow.plane_epoch < since) {
      return 'It was opened before these rules were loaded.';
    }
    if (taken === rule) return 'The target was switched after it was opened.';
    return 'What is known of it now may not be what it was routed by: a name may have been read from its first bytes only after the decision.';
  }
}

function commandOf(asked: FlowWanted, path: string | null | undefined): string {
  const options = (['from', 'inbound', 'network', 'sniffed'] as const).flatMap((name) => {
    const value = asked[name];
    return value === undefined || (name === 'network' && value === 'tcp')
      ? []
      : [`--${name}`, value];
  });
  const config = typeof path === 'string' ? ['--config', path] : [];
  return commandLine(['weir', 'explain', asked.to, ...options, ...config]);
}
