/** Where a configuration routes a flow, and why. */
export {
  BatchError,
  type BatchLine,
  LARGEST_BATCH,
  readBatch,
  withOutbounds,
} from './explain/batch.ts';
export { chooseInbound, explainerOf, explainFlow, queryOf } from './explain/explain-flow.ts';
export { type LoadedRoutes, loadRoutes } from './explain/load-routes.ts';
export { type RuleWarning, ruleWarnings } from './explain/rule-warnings.ts';
export { explainText, flowText, placeText } from './explain/text.ts';
