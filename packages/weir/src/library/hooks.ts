import {
  type AuthorizeAnswer,
  type AuthorizeQuestion,
  type Hook,
  HookCalls,
  type Hooks,
  isAuthorizeAnswer,
  isRouteAnswer,
  type RouteAnswer,
  type RouteQuestion,
} from '@weir/proxy/hooks';
import { systemClock } from '@weir/io/time';
import { ControlError } from '@weir/server/api/contract';

/** Functions of the host program that decide on clients and flows. */
export interface HookOptions {
  /**
   * Decides on each client of `socks` and `http` inbounds that the accounts of its inbound accept; on all clients of an
   * inbound without accounts. It is asked once for a SOCKS connection, and for each HTTP request.
   */
  readonly authorize?: Hook<AuthorizeQuestion, AuthorizeAnswer> | undefined;
  /**
   * Routes each flow for which no outbound has been chosen: by the tag of an outbound or balancer, or a refusal;
   * `undefined` leaves it to the rules. An association is asked about once for each peer.
   */
  readonly route?: Hook<RouteQuestion, RouteAnswer> | undefined;
  /** Milliseconds that a call of a hook may take, 10,000 by default; then its client is refused. */
  readonly hookTimeoutMs?: number | undefined;
  /** Calls of each hook that may wait, 1,024 by default; further clients and flows are refused. */
  readonly maxPendingHooks?: number | undefined;
}

const TIMEOUT_MS = 10_000;
const MAX_PENDING = 1_024;

/** Returns the hooks of a host program; `undefined` if it has none. @throws {ControlError} `invalid` for an invalid limit */
export function hooksOf({
  authorize,
  route,
  hookTimeoutMs: timeoutMs = TIMEOUT_MS,
  maxPendingHooks: maxPending = MAX_PENDING,
}: HookOptions): Hooks | undefined {
  checkPositive('hookTimeoutMs', timeoutMs);
  checkPositive('maxPendingHooks', maxPending);
  if (!authorize && !route) return undefined;
  const limits = { clock: systemClock, timeoutMs, maxPending };
  return {
    authorize: authorize && new HookCalls('authorize', authorize, isAuthorizeAnswer, limits),
    route: route && new HookCalls('route', route, isRouteAnswer, limits),
  };
}

function checkPositive(name: string, value: number): void {
  if (!(value > 0)) throw new ControlError('invalid', `${name} must be positive`);
}
