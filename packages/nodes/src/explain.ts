/** Where a configuration routes a flow, and why. */
export {
  BatchError,
  type BatchLine,
  LARGEST_BATCH,
  readBatch,
  withOutbounds,
} from './explain/batch.ts';
export {
  chooseInbound,
  explainerOf,
  explainFlow,
  queryOf,
  explainText,
  flowText,
  placeText,
} from './explain/explain-flow.ts';
export {
  type LoadedRoutes,
  loadRoutes,
  type RuleWarning,
  ruleWarnings,
} from './explain/load-routes.ts';
