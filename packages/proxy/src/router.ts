/** Rules, and the outbound that they lead to. */
export { type MatcherKey, MATCHERS } from './engine/router/conditions.ts';
export type { RouteQuery } from './engine/router/query.ts';
export { Router } from './engine/router/router.ts';
export { buildRouterTables, type RouterTables } from './engine/router/tables/router-tables.ts';
