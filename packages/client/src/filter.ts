/** Filters of flows, as people type them. */
export { type FlowMatcher, matcherOf } from './monitor/filter/matcher.ts';
export { filterValue, LONGEST_FILTER, parseFilter, type Term } from './monitor/filter/terms.ts';
