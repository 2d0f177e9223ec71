import { Control } from '../support/process/control.ts';
import { Weir, type WeirOptions } from '../support/process/weir.ts';
import { within } from '../support/wait.ts';
import type { Failure } from './faults.ts';
import {
  ARMED_AT_START,
  type Disarmed,
  type Held,
  type Request,
  type Response,
} from './inside/preload.ts';

const PRELOAD = new URL('inside/preload.ts', import.meta.url).href;

/** What a process holds, with what its API lists. */
export interface State extends Held {
  readonly flows: number;
  readonly sessions: number;
}

type Asked = Request extends infer Each ? (Each extends Request ? Omit<Each, 'id'> : never) : never;

/** A Weir whose calls can be made to fail. Disposing of it kills it. */
export class Victim implements AsyncDisposable {
  readonly weir: Weir;
  readonly control: Control;
  readonly #waiting = new Map<number, (result: Response['result']) => void>();
  #last = 0;

  private constructor(weir: Weir, control: Control) {
    this.weir = weir;
    this.control = control;
    weir.child.process.on('message', ({ id, result }: Response) => {
      this.#waiting.get(id)?.(result);
      this.#waiting.delete(id);
    });
  }

  /**
   * @param config with an API and `[log]`.
   * @param armed from the start: a failure, or `null` to count alone.
   */
  static async start(
    config: string,
    files: WeirOptions['files'] = {},
    armed?: Failure | null,
  ): Promise<Victim> {
    const weir = await Weir.start(config, tortured({ files }, armed));
    try {
      return new Victim(weir, await Control.of(weir));
    } catch (error) {
      await weir[Symbol.asyncDispose]();
      throw error;
    }
  }

  get isAlive(): boolean {
    return this.weir.child.ended === undefined;
  }

  /** What it has logged so far. */
  get log(): string {
    return this.weir.child.stderr;
  }

  /** Counts calls from now on, and makes one of them fail. */
  async arm(failure: Failure | undefined): Promise<void> {
    await this.#ask({ do: 'arm', failure });
  }

  async disarm(): Promise<Disarmed> {
    return (await this.#ask({ do: 'disarm' })) as Disarmed;
  }

  async state(): Promise<State> {
    const { flows, sessions } = await this.control.connections();
    const held = (await this.#ask({ do: 'state' })) as Held;
    return { ...held, flows: flows.length, sessions: sessions.length };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.weir[Symbol.asyncDispose]();
  }

  #ask(request: Asked): Promise<Response['result']> {
    const id = ++this.#last;
    const { promise, resolve } = Promise.withResolvers<Response['result']>();
    this.#waiting.set(id, resolve);
    this.weir.child.process.send({ ...request, id });
    return within(promise, () => `a response to ${request.do}:\n${this.log.slice(-2000)}`);
  }
}

const tortured = (options: WeirOptions, armed?: Failure | null): WeirOptions => ({
  ...options,
  ipc: true,
  nodeArgs: ['--import', PRELOAD],
  env: {
    // Each use of a descriptor is checked, and a lost event is an error.
    WEIR_IO_CHECK: '1',
    [ARMED_AT_START]: armed === undefined ? undefined : JSON.stringify(armed),
  },
});
