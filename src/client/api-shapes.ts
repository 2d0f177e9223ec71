import type { FlowJson, SessionJson, TrafficJson } from './api-views.ts';
import type { RouteView } from '../config/route-view.ts';

/*
 * Checks of the API's bodies before clients read them as the types of api-views.ts: an address may belong to another
 * server, and a foreign body must be rejected here rather than fail somewhere in a page or a table.
 */

type Check = (value: unknown) => boolean;

const isText: Check = (value) => typeof value === 'string';
const isNumber: Check = (value) => Number.isFinite(value);
const orNull =
  (check: Check): Check =>
  (value) =>
    value === null || check(value);
const listOf =
  (check: Check): Check =>
  (value) =>
    Array.isArray(value) && value.every(check);
const recordOf =
  (check: Check): Check =>
  (value) =>
    isObject(value) && Object.values(value).every(check);

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** A check for objects with at least these fields. */
function shape<T>(fields: { readonly [Name in keyof Required<T>]: Check }): Check {
  const entries = Object.entries<Check>(fields);
  return (value) => isObject(value) && entries.every(([name, check]) => check(value[name]));
}

const isFlow = shape<FlowJson>({
  id: isNumber,
  session: orNull(isNumber),
  network: isText,
  inbound: isText,
  user: orNull(isText),
  source: orNull(isText),
  host: isText,
  port: isNumber,
  sniffed: orNull(isText),
  outbound: isText,
  outbound_version: isNumber,
  rule: orNull(isNumber),
  plane_epoch: isNumber,
  started_at: isNumber,
  up: isNumber,
  down: isNumber,
});

const isSession = shape<SessionJson>({
  id: isNumber,
  inbound: isText,
  source: orNull(isText),
  user: orNull(isText),
  up: isNumber,
  down: isNumber,
  started_at: isNumber,
});

const TRAFFIC_PART = {
  up: isNumber,
  down: isNumber,
  up_rate: isNumber,
  down_rate: isNumber,
  flows: isNumber,
};

const isTraffic = shape<TrafficJson>({
  ...TRAFFIC_PART,
  tick: isNumber,
  interval_ms: isNumber,
  inbounds: recordOf(shape(TRAFFIC_PART)),
  outbounds: recordOf(shape(TRAFFIC_PART)),
});

const isRoutes = shape<RouteView>({
  default: shape<RouteView['default']>({ pick: orNull(isText), target: orNull(isText) }),
  groups: listOf(
    shape<RouteView['groups'][number]>({
      name: isText,
      pick: orNull(isText),
      inherit: (value) => isText(value) || shape({ group: isText })(value),
      target: orNull(isText),
    }),
  ),
  targets: listOf(shape<RouteView['targets'][number]>({ name: isText, kind: isText })),
});

const BODIES: Readonly<Record<string, Check>> = {
  'GET /v1/version': shape({ version: isText }),
  'GET /v1/routes': isRoutes,
  'GET /v1/connections': shape({ flows: listOf(isFlow), sessions: listOf(isSession) }),
};

const EVENTS: Readonly<Record<string, Check>> = {
  opened: isFlow,
  closed: isFlow,
  lagged: shape({ missed: isNumber }),
  traffic: isTraffic,
};

/** Whether the body of a successful response has the shape of the API's; responses without a check above pass. */
export const isBodyOf = (method: string, path: string, body: unknown): boolean =>
  BODIES[`${method} ${path}`]?.(body) ?? true;

/** Whether the data of an event has the shape of the API's; events without a check above pass. */
export const isDataOf = (event: string, data: unknown): boolean =>
  (Object.hasOwn(EVENTS, event) ? EVENTS[event]?.(data) : undefined) ?? true;
