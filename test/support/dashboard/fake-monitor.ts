import type { FlowView } from '@weir/server/api/views';
import type {
  Monitor,
  MonitoredFlow,
  TrafficPart,
  TrafficSample,
} from '../../../packages/client/src/monitor/contract.ts';

/** A flow as a monitor has it. */
export const flowOf = (
  id: number,
  view: Partial<FlowView> = {},
  more: Partial<MonitoredFlow> = {},
): MonitoredFlow => ({
  view: {
    id,
    session: null,
    network: 'tcp',
    inbound: 'in',
    user: null,
    source: '127.0.0.1',
    host: 'example.com',
    port: 443,
    sniffed: null,
    outbound: 'direct',
    outbound_version: 1,
    rule: null,
    plane_epoch: 1,
    started_at: 1_000,
    up: 0,
    down: 0,
    ...view,
  },
  upRate: 0,
  downRate: 0,
  closedAt: undefined,
  ...more,
});

/** A sample of traffic. */
export const trafficOf = (
  part: Partial<Omit<TrafficSample, 'outbounds'>> & {
    readonly outbounds?: Readonly<Record<string, Partial<TrafficPart>>>;
  },
): TrafficSample => ({
  ...NOTHING,
  at: 0,
  tick: 0,
  inbounds: new Map(),
  ...part,
  outbounds: new Map(
    Object.entries(part.outbounds ?? {}).map(([tag, each]) => [tag, { ...NOTHING, ...each }]),
  ),
});

const NOTHING: TrafficPart = { up: 0, down: 0, upRate: 0, downRate: 0, flows: 0 };

type Writable<T> = { -readonly [K in keyof T]: T[K] };

export interface FakeMonitor extends Writable<Monitor> {
  /** As if flows had been listed at that time. */
  list(at: number, flows: readonly MonitoredFlow[], traffic?: TrafficSample): void;
  /** Calls the listeners. */
  changed(): void;
  holds: number;
}

/** A monitor that a test fills. */
export function fakeMonitor(part: Partial<Writable<Monitor>> = {}): FakeMonitor {
  const listeners = new Set<() => void>();
  const monitor: FakeMonitor = {
    flows: new Map(),
    sessions: new Map(),
    traffic: undefined,
    history: { seconds: [], halfMinutes: [] },
    routes: undefined,
    routesError: undefined,
    version: undefined,
    status: undefined,
    api: { kind: 'reached' },
    socket: { kind: 'reached' },
    missed: 0,
    listedAt: undefined,
    holds: 0,
    hold: () => {
      monitor.holds++;
      return { [Symbol.dispose]: () => void monitor.holds-- };
    },
    onChange: (listener) => {
      listeners.add(listener);
      return { [Symbol.dispose]: () => void listeners.delete(listener) };
    },
    refresh: () => Promise.resolve(),
    list: (at, flows, traffic) => {
      monitor.flows = new Map(flows.map((flow) => [flow.view.id, flow]));
      monitor.listedAt = at;
      if (traffic) monitor.traffic = traffic;
    },
    changed: () => {
      for (const listener of listeners) listener();
    },
    ...part,
  };
  return monitor;
}
