import { createHash } from 'node:crypto';
import {
  ControlError,
  stale,
  unknownGroup,
  unknownTarget,
  type ControlledApp,
  type PickResult,
  type RoutesResult,
  type IfMatch,
} from '../../src/api/contract.ts';
import type { RouteView } from '@weir/config/route-view';
import type { ReloadReport } from '../../src/supervisor/reload-report.ts';
import type { FlowInfo, Flow } from '../../../proxy/src/tracker/flow.ts';
import { Tracker } from '@weir/proxy/tracker';
import { ImpatientClock } from '../../../../test/support/manual-clock.ts';
import { flowInfo as anyFlow } from '../../../../test/support/engine/flow-info.ts';

/** The moments of an edit at which a test may hold it. */
export type Step = 'lock' | 'check' | 'write' | 'reload';

export const APPLIED: ReloadReport = {
  status: 'applied',
  built: ['route'],
  swapped: [],
  drained: [],
  rebound: [],
  restarted: [],
  removed: [],
  reused: ['dns', 'outbound tokyo@v1', 'inbound socks'],
};

/**
 * An app whose configuration file is a text in memory, one line for each pick. Its edits follow the
 * order that the API promises: lock, condition, names, check, second look, write, reload.
 */
export class FakeApp implements ControlledApp {
  readonly version = '9.8.7-test';
  readonly clock = new ImpatientClock(5_000);
  readonly tracker = new Tracker(this.clock);
  /** The configuration file. */
  file = '# picks\n';
  readonly groups = ['Video Streaming', 'a/b', 'größe', '日本'];
  readonly targets = ['tokyo', 'osaka', 'auto'];
  /** What the next calls fail with. */
  routesError: Error | undefined;
  checkError: Error | undefined;
  writeError: Error | undefined;
  reloadError: Error | undefined;
  report: ReloadReport | undefined;
  reloads = 0;
  writes = 0;
  /** Edits that were given up, with the step at which they were. */
  readonly abandoned: Step[] = [];
  readonly picks: { group: string; target: string; ifMatch: IfMatch }[] = [];
  #lastTried = '';
  #lock: Promise<void> = Promise.resolve();
  readonly #held = new Map<Step, { reached: () => void; released: Promise<void> }>();

  constructor() {
    this.tracker.traffic.start();
  }

  get etag(): string {
    return `"${createHash('sha256').update(this.file).digest('hex')}"`;
  }

  /** Holds edits at a step: `reached` resolves when one is there, `release` lets it go on. */
  hold(step: Step): { readonly reached: Promise<void>; readonly release: () => void } {
    const reached = Promise.withResolvers<void>();
    const released = Promise.withResolvers<void>();
    this.#held.set(step, { reached: () => reached.resolve(), released: released.promise });
    return {
      reached: reached.promise,
      release: () => {
        this.#held.delete(step);
        released.resolve();
      },
    };
  }

  pickOf(group: string): string | undefined {
    return new RegExp(`^${RegExp.escape(JSON.stringify(group))} = "(.*)"$`, 'm').exec(
      this.file,
    )?.[1];
  }

  view(): RouteView {
    const main = this.pickOf('default') ?? null;
    return {
      default: { pick: main, target: main ?? 'tokyo' },
      groups: this.groups.map((name, index) => {
        const pick = this.pickOf(name) ?? null;
        const inherit = index === 1 ? { group: 'Video Streaming' } : ('default' as const);
        return { name, pick, inherit, target: pick ?? main ?? 'tokyo' };
      }),
      targets: [
        { name: 'tokyo', kind: 'outbound' },
        { name: 'auto', kind: 'balancer' },
        { name: 'osaka', kind: 'node' },
        { name: 'direct', kind: 'direct' },
        { name: 'blackhole', kind: 'blackhole' },
      ],
    };
  }

  async routes(): Promise<RoutesResult> {
    if (this.routesError) throw this.routesError;
    await Promise.resolve();
    return { view: this.view(), etag: this.etag };
  }

  async pick(
    group: string,
    target: string,
    ifMatch: IfMatch,
    signal: AbortSignal,
  ): Promise<PickResult> {
    this.picks.push({ group, target, ifMatch });
    const before = this.#lock;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#lock = before.then(() => promise);
    try {
      await this.#pass('lock', before, signal);
      return await this.#edit(group, target, ifMatch, signal);
    } finally {
      resolve();
    }
  }

  async reload(): Promise<ReloadReport> {
    this.reloads++;
    await this.#held.get('reload')?.released;
    if (this.reloadError) throw this.reloadError;
    if (this.report) return this.report;
    if (this.file === this.#lastTried) return { status: 'unchanged' };
    this.#lastTried = this.file;
    return APPLIED;
  }

  async #edit(
    group: string,
    target: string,
    ifMatch: IfMatch,
    signal: AbortSignal,
  ): Promise<PickResult> {
    if (this.routesError) throw this.routesError;
    const read = this.file;
    if (ifMatch.kind === 'is' && ifMatch.etag !== this.etag) throw stale(this.etag);
    const view = this.view();
    if (group !== 'default' && !view.groups.some(({ name }) => name === group)) {
      throw unknownGroup(group);
    }
    if (!view.targets.some(({ name }) => name === target)) throw unknownTarget(target);
    const edited = withPick(read, group, target);
    if (edited !== read) {
      await this.#pass('check', undefined, signal);
      if (this.checkError) throw this.checkError;
      if (this.file !== read) throw stale(this.etag);
      await this.#pass('write', undefined, signal);
      if (this.writeError) throw this.writeError;
      this.file = edited;
      this.writes++;
    }
    const etag = this.etag;
    try {
      const held = this.#held.get('reload');
      held?.reached();
      return { report: await this.reload(), etag };
    } catch (error) {
      throw error instanceof ControlError ? error.withEtag(etag) : error;
    }
  }

  async #pass(step: Step, first: Promise<void> | undefined, signal: AbortSignal): Promise<void> {
    const held = this.#held.get(step);
    held?.reached();
    const gone = new Promise<void>((resolve) => {
      signal.addEventListener('abort', () => resolve(), { once: true });
    });
    await Promise.race([Promise.all([first, held?.released]), gone]);
    if (!signal.aborted) return;
    this.abandoned.push(step);
    throw signal.reason;
  }
}

function withPick(file: string, group: string, target: string): string {
  const key = JSON.stringify(group);
  const line = `${key} = "${target}"`;
  const existing = new RegExp(`^${RegExp.escape(key)} = .*$`, 'm');
  return existing.test(file) ? file.replace(existing, () => line) : `${file}${line}\n`;
}

/** The fields of a flow that a test leaves at their defaults. */
export const flowInfo = (over: Partial<FlowInfo> = {}): FlowInfo =>
  anyFlow({ inbound: 'socks', outbound: 'tokyo', ...over });

/** A flow that closes when it is killed, as a relay's does. */
export function openFlow(app: FakeApp, over: Partial<FlowInfo> = {}): Flow {
  const flow: Flow = app.tracker.openFlow(flowInfo(over), () => flow.close());
  return flow;
}

/** A flow that takes its time to close. */
export const openSlowFlow = (app: FakeApp, over: Partial<FlowInfo> = {}): Flow =>
  app.tracker.openFlow(flowInfo(over), () => undefined);
