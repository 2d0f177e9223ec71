import type { MonitoredFlow } from '@weir/client/monitor';
import type { DashboardContext, PageTopic } from '../contract.ts';
import { filterValue } from '@weir/client/filter';
import { flowRow } from './flow-row.ts';
import { readId } from './parameters.ts';
import type { ConnectionDetails, LikeFilter } from './view.ts';

/** Maximum number of other flows of the session that are listed. */
const MAX_OTHERS = 20;

/** One connection: the topic `connection`, with the parameter `{ id }`. */
export function createDetailsTopic({ monitor }: DashboardContext): PageTopic {
  const detailsOf = (id: number): ConnectionDetails => {
    const flow = monitor.flows.get(id);
    if (!flow) return null;
    const { session, rule } = flow.view;
    const others = [...monitor.flows.values()].filter(
      ({ view }) => session !== null && view.session === session && view.id !== id,
    );
    const group = monitor.status?.value.routes.groups.find(
      ({ first_rule: first, rules }) => rule !== null && rule >= first && rule < first + rules,
    );
    return {
      flow: flowRow(flow),
      routeGroup: group?.name ?? null,
      others: others.slice(-MAX_OTHERS).toReversed().map(flowRow),
      otherCount: others.length,
      alike: alikeOf(flow, monitor.flows.values()),
    };
  };
  return {
    name: 'connection',
    view: (parameters) => detailsOf(readId(parameters)),
  };
}

interface Likeness {
  readonly what: string;
  readonly filter: string;
  readonly matches: (flow: MonitoredFlow) => boolean;
}

function alikeOf(flow: MonitoredFlow, all: Iterable<MonitoredFlow>): readonly LikeFilter[] {
  const likenesses = likenessesOf(flow);
  const counts = likenesses.map(() => 0);
  for (const other of all) {
    if (other.closedAt !== undefined) continue;
    for (const [index, { matches }] of likenesses.entries()) {
      if (matches(other)) counts[index] = (counts[index] ?? 0) + 1;
    }
  }
  return likenesses.map(({ what, filter }, index) => ({ what, filter, flows: counts[index] ?? 0 }));
}

function likenessesOf({ view }: MonitoredFlow): readonly Likeness[] {
  const { session, user, outbound, inbound, source, host, rule } = view;
  const list: Likeness[] = [];
  if (session !== null) {
    const matches = (other: MonitoredFlow) => other.view.session === session;
    list.push({ what: 'session', filter: `session:${session}`, matches });
  }
  if (user !== null) {
    list.push({
      what: 'user',
      filter: `user:${filterValue(user)}`,
      matches: (other) => other.view.user === user,
    });
  }
  if (source !== null) {
    list.push({
      what: 'source',
      filter: `src:${filterValue(source)}`,
      matches: (other) => other.view.source === source,
    });
  }
  list.push(
    {
      what: 'host',
      filter: `host:${filterValue(host)}`,
      matches: (other) => other.view.host === host || other.view.sniffed === host,
    },
    {
      what: 'outbound',
      filter: `out:${filterValue(outbound)}`,
      matches: (other) => other.view.outbound === outbound,
    },
    {
      what: 'inbound',
      filter: `in:${filterValue(inbound)}`,
      matches: (other) => other.view.inbound === inbound,
    },
    {
      what: 'rule',
      filter: `rule:${rule ?? 'default'}`,
      matches: (other) => other.view.rule === rule,
    },
  );
  return list;
}
