import { setImmediate as turn } from 'node:timers/promises';
import { ApiClient, type RequestParts } from '../../../packages/client/src/client/api-client.ts';
import type { MonitoredFlow } from '@weir/client/monitor';
import { TerminalProgram } from '../../../packages/watch/src/top/terminal-program.ts';
import { fakeMonitor } from '../dashboard/fake-monitor.ts';
import { ManualClock } from '../manual-clock.ts';
import { routesOf } from './snapshot.ts';
import { FakeTerminal } from './terminal.ts';

/** Between two frames. */
const FRAME_MS = 1_000;

/** An API with the routes of `routesOf`, and flows; it notes the requests that change something. */
class FakeApi extends ApiClient {
  readonly changes: string[] = [];
  failure: Error | undefined;
  /** While it is set, requests wait for it. */
  waits: Promise<void> | undefined;

  constructor() {
    super({ kind: 'unix', path: '/nowhere' }, undefined);
  }

  override async askTagged(method: string, path: string, { body, ifMatch }: RequestParts = {}) {
    await this.waits;
    if (this.failure) throw this.failure;
    if (method === 'GET' && path === '/v1/routes') return { body: routesOf(), etag: '"1"' };
    this.changes.push([method, path, JSON.stringify(body), ifMatch].filter(Boolean).join(' '));
    const report = { status: 'applied', built: ['route'], removed: [] };
    return { body: method === 'DELETE' ? undefined : report, etag: '"2"' };
  }
}

/** The program on a terminal, with flows and routes of a test. */
export class ProgramStage {
  readonly terminal: FakeTerminal;
  readonly clock = new ManualClock();
  readonly monitor = fakeMonitor();
  readonly api = new FakeApi();
  readonly requests: string[] = [];
  readonly program: TerminalProgram;

  constructor({
    columns = 80,
    rows = 24,
    readOnly = false,
  }: { readonly columns?: number; readonly rows?: number; readonly readOnly?: boolean } = {}) {
    this.terminal = new FakeTerminal(columns, rows);
    this.monitor.routes = { value: { view: routesOf(), etag: '"1"' }, at: 0 };
    this.program = new TerminalProgram(
      {
        running: { api: this.api, socket: undefined },
        monitor: this.monitor,
        failing: { at: () => [] },
        readOnly,
        name: 'weir.toml',
        clock: this.clock,
        hasColour: true,
      },
      this.terminal,
      (request) => this.requests.push(request),
    );
    this.program.start();
  }

  /** The flows of the next list, and the frame with them. */
  list(flows: readonly MonitoredFlow[]): void {
    this.monitor.list(this.clock.wall(), flows);
    this.frame();
  }

  /** The next frame. */
  frame(): void {
    this.clock.advance(FRAME_MS);
  }

  /** Keys in one piece; resolves when what they began has ended. */
  async press(keys: string): Promise<void> {
    this.program.input(keys);
    for (let i = 0; i < 20; i++) await turn();
  }

  /** The hosts of the rows, from the top. */
  async hosts(): Promise<readonly string[]> {
    const text = await this.terminal.text();
    return Array.from(text.matchAll(/ (\w+\.example)/g), ([, host = '']) => host);
  }
}
