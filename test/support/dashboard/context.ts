import type { RunningStatus } from '@weir/server/control';
import type { DashboardContext } from '@weir/watch/dashboard';
import { ApiClient } from '@weir/client/api';
import { VERSION } from '@weir/base';
import { fullStatus } from '../metrics/full-status.ts';
import { fakeMonitor } from './fake-monitor.ts';

/** What topics and actions work with, in a test: nothing is running. */
export const contextOf = (part: Partial<DashboardContext> = {}): DashboardContext => ({
  monitor: fakeMonitor(),
  api: new FakeApi(() => Promise.reject(new Error('no API in this test'))),
  socket: undefined,
  config: undefined,
  env: {},
  readOnly: false,
  now: () => 0,
  ...part,
});

/** An API that a test answers. */
export class FakeApi extends ApiClient {
  /** `DELETE /v1/connections/1` */
  readonly requests: string[] = [];
  readonly #answer: (request: string) => Promise<unknown>;

  constructor(answer: (request: string) => Promise<unknown>) {
    super({ kind: 'unix', path: '/nowhere' }, undefined);
    this.#answer = answer;
  }

  override ask(method: string, path: string): Promise<unknown> {
    this.requests.push(`${method} ${path}`);
    return this.#answer(`${method} ${path}`);
  }
}

/** The status of a Weir that serves. */
export const statusOf = (part: Partial<RunningStatus> = {}): RunningStatus => ({
  ...fullStatus,
  build: null,
  version: VERSION,
  config: '/etc/weir/weir.toml',
  last_reload: null,
  ...part,
});
