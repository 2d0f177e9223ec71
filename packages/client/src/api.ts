/** Asks the API of a running Weir. */
export { ApiClient, ApiClientError, parsePlace, readSecret } from './client/api-client.ts';
export {
  closeFlows,
  flowsLeft,
  planPick,
  putPick,
  type RoutePick,
  type RouteSwitch,
} from './client/pick-route.ts';
