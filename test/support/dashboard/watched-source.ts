import { existsSync } from 'node:fs';
import { requestStatus } from '@weir/server/control';
import { ApiClient, parsePlace } from '@weir/client/api';
import type {
  CreatePageSource,
  DashboardContext,
} from '../../../packages/watch/src/dashboard/contract.ts';
import type { JsonValue } from '../../../packages/watch/src/dashboard/shared/protocol.ts';
import { RunningMonitor } from '@weir/client/monitor/running-monitor';
import { systemClock } from '@weir/io/time';
import { Control } from '../process/control.ts';
import type { Weir } from '../process/weir.ts';
import { eventually } from '../wait.ts';

/** A source of the dashboard over a running Weir, watched as by one page. */
export class WatchedSource implements Disposable {
  readonly context: DashboardContext;
  readonly #source: ReturnType<CreatePageSource>;
  readonly #held = new DisposableStack();

  private constructor(create: CreatePageSource, context: DashboardContext) {
    this.context = context;
    this.#source = create(context);
    this.#held.use(context.monitor.hold());
    for (const topic of this.#source.topics) {
      const hold = topic.hold?.();
      if (hold) this.#held.use(hold);
    }
  }

  /** @param hasSocket whether the dashboard finds the control socket */
  static async of(weir: Weir, create: CreatePageSource, hasSocket = true): Promise<WatchedSource> {
    const control = await Control.of(weir);
    const [, at = ''] = /API listening on (\S+)/.exec(weir.child.stderr) ?? [];
    const socket = hasSocket ? weir.controlPath : undefined;
    if (socket !== undefined) await eventually('the control socket', () => existsSync(socket));
    const api = new ApiClient(parsePlace(at), undefined);
    const monitor = new RunningMonitor({
      api,
      status: async () => (socket === undefined ? undefined : requestStatus(socket)),
      clock: systemClock,
    });
    const now = (): number => Date.now();
    const context = { monitor, api, socket, config: control.file, env: {}, readOnly: false, now };
    return new WatchedSource(create, context);
  }

  // oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- what a topic of this name has
  view<T>(name: string, parameters: JsonValue = {}): T {
    const topic = this.#source.topics.find((each) => each.name === name);
    if (!topic) throw new Error(`no topic ${name}`);
    return topic.view(parameters) as T;
  }

  /** Waits until the topic's value is as wanted. */
  until<T>(
    name: string,
    what: string,
    isWanted: (view: T) => boolean,
    parameters: JsonValue = {},
  ): Promise<T> {
    return eventually(
      () => `${what}: ${JSON.stringify(this.view(name, parameters))}`,
      () => {
        const view = this.view<T>(name, parameters);
        return isWanted(view) && view;
      },
    );
  }

  async act<T>(name: string, parameters: JsonValue = {}): Promise<T> {
    const action = this.#source.actions.find((each) => each.name === name);
    if (!action) throw new Error(`no action ${name}`);
    return (await action.run(parameters, new AbortController().signal)) as T;
  }

  [Symbol.dispose](): void {
    this.#held.dispose();
  }
}
