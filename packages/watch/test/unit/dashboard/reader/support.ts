import type { RunningStatus } from '@weir/server/control';
import type { FlowView } from '@weir/server/api/views';
import {
  fakeMonitor,
  flowOf,
  type FakeMonitor,
} from '../../../../../../test/support/dashboard/fake-monitor.ts';

/** A monitor for the pages that read the configuration. */
export interface ReaderMonitor extends FakeMonitor {
  /** Only the parts that these pages read. */
  setStatus(parts: Partial<RunningStatus>): void;
  addFlow(id: number, view?: Partial<FlowView>, closedAt?: number): void;
}

export function readerMonitor(): ReaderMonitor {
  const monitor = fakeMonitor({ listedAt: 1 });
  return Object.assign(monitor, {
    setStatus: (parts: Partial<RunningStatus>) => {
      const base = { version: '1', pid: 7, config: null, started_at: 0, plane_epoch: 1 };
      const routes = { rules_since: 0, groups: [] };
      const traffic = { up: 0, down: 0, inbounds: [], outbounds: [] };
      const value = { ...base, routes, traffic, balancers: [], last_reload: null, ...parts };
      // The rest is not read.
      monitor.status = { value: value as unknown as RunningStatus, at: 0 };
    },
    addFlow: (id: number, view: Partial<FlowView> = {}, closedAt?: number) => {
      const flow = flowOf(id, { inbound: 'desk', ...view }, { closedAt });
      monitor.flows = new Map(monitor.flows).set(id, flow);
    },
  });
}
