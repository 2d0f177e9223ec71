/** Rules in words, and why one took a flow. */
export { type PassedRule, RouteExplainer, type RouteExplanation } from './engine/router/explain.ts';
export { matcherEntries, matcherTexts } from './engine/router/explain.ts';
