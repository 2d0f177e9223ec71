import { RouteExplainer } from '../engine/router/explain.ts';
import type { RouteQuery } from '../engine/router/query.ts';
import type { ExplainedFlow } from './flow.ts';
import type { LoadedRoutes } from './load-routes.ts';
import { notesOf, type ExplainNote } from './notes.ts';
import { chooseInbound, queryOf } from './query.ts';
import { answerOf, type RouteAnswer } from './route-answer.ts';

export interface FlowAnswer {
  readonly query: RouteQuery;
  readonly answer: RouteAnswer;
  readonly notes: readonly ExplainNote[];
}

/**
 * Creates an explainer. Explaining takes time linear in the number of rules, and creating one takes longer: keep it for
 * further flows.
 */
export const explainerOf = ({ spec, regexes, geo }: LoadedRoutes): RouteExplainer =>
  new RouteExplainer(spec.route, regexes, geo);

/**
 * Explains how a flow would be routed.
 *
 * @throws {UsageError} for an unknown inbound
 */
export function explainFlow(
  asked: ExplainedFlow,
  { spec, places }: LoadedRoutes,
  explainer: RouteExplainer,
): FlowAnswer {
  const inbound = chooseInbound(spec, asked.inbound);
  const query = queryOf(asked, inbound);
  const explanation = explainer.explain(query);
  const answer = answerOf(spec, query, explanation, places);
  const notes = notesOf({ asked, spec, inbound, query, explainer, explanation, answer });
  return { query, answer, notes };
}
