import type { ApiOptions } from '@weir/config';
import { messageOf } from '@weir/base';
import type { Logger } from '@weir/base/log';
import type { OwnListeners } from '@weir/io/net/own-listeners';
import type { ControlledApp } from './contract.ts';
import type { ReopenableListener } from '../supervisor/inbound-listener.ts';
import type { ApiServer } from './http/server.ts';

/**
 * - `off`: nothing is bound
 * - `on`: serving
 * - `stopping`: the address is free again, and responses in progress are being completed
 * - `failed`: the first `[api]` could not be bound; the process must exit
 */
export type ApiState = 'off' | 'on' | 'stopping' | 'failed';

/**
 * The API of a running process, across reloads that change `[api]`.
 *
 * Changes are applied one after the other. A reload requested through the API must not wait for
 * `change`, because the old listener waits for that request to finish.
 */
export class ApiLifecycle {
  readonly #app: ControlledApp;
  readonly #log: Logger;
  readonly #ownListeners: OwnListeners;
  #state: ApiState = 'off';
  /** The current `[api]`, whether or not it could be bound. */
  #options: ApiOptions | undefined;
  /** The `[api]` that was read last; newer than `#options` while changes are queued. */
  #wanted: ApiOptions | undefined;
  /** The last attempt to bind, pending or settled; never rejects. */
  #bindingDone: Promise<void> = Promise.resolve();
  #server: ApiServer | undefined;
  #ended = false;
  /** Queue of changes and the stop, in call order; never rejects. */
  #work: Promise<void> = Promise.resolve();
  /** Listeners that are closed but have responses in progress. */
  readonly #finishing = new Set<Promise<void>>();

  /**
   * @param log has the app's own target, `svc_app`
   * @param ownListeners receives the address of an API without a secret
   */
  constructor(app: ControlledApp, log: Logger, ownListeners: OwnListeners) {
    this.#ownListeners = ownListeners;
    this.#app = app;
    this.#log = log;
  }

  get state(): ApiState {
    return this.#state;
  }

  /** The address of the API while its state is `on`. */
  get address(): string | undefined {
    return this.#state === 'on' ? this.#server?.address : undefined;
  }

  /**
   * Starts for the first time; without options the API stays off.
   * @throws {ApiBindError} when `[api]` cannot be bound: the process must exit, with `failed to start: ` before the
   * message
   */
  start(options: ApiOptions | undefined): Promise<void> {
    this.#wanted = options;
    return this.#queue(async () => {
      this.#options = options;
      if (!options || this.#ended) return;
      try {
        await this.#bind(options);
      } catch (error) {
        this.#state = 'failed';
        throw error;
      }
    });
  }

  /**
   * The current listener, if a new `[api]` moves or removes it: a reload may bind an inbound to the old address before
   * it calls `change`. Waits for a listener that is being bound.
   */
  async movingListener(next: ApiOptions | undefined): Promise<ReopenableListener | undefined> {
    await this.#bindingDone;
    const server = this.#server;
    if (!server || next?.listen.text === this.#options?.listen.text) return undefined;
    return {
      conflictsWith: (spec) => server.conflictsWith(spec),
      close: () => Promise.resolve(server.release()),
      reopen: () => this.#reopen(server),
    };
  }

  /**
   * Applies the `[api]` of a reload. Resolves when it is in effect or its failure is logged. Of
   * several queued changes only the last is applied.
   */
  change(wanted: ApiOptions | undefined): Promise<void> {
    this.#wanted = wanted;
    return this.#queue(async () => {
      const options = this.#wanted;
      if (this.#ended || isSame(options, this.#options)) return;
      this.#options = options;
      const finished = this.#close();
      if (options) await this.#rebind(options);
      else if (finished) await this.#afterRemoval(finished);
    });
  }

  /** Stops permanently: responses in progress get 5 seconds. */
  stop(): Promise<void> {
    return this.#queue(async () => {
      this.#ended = true;
      void this.#close();
      await Promise.all(this.#finishing);
      if (this.#state !== 'failed') this.#state = 'off';
    });
  }

  #queue(work: () => Promise<void>): Promise<void> {
    const done = this.#work.then(work);
    this.#work = done.catch(() => undefined); // the caller gets the failure
    return done;
  }

  async #bind(options: ApiOptions): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#bindingDone = promise;
    try {
      // Imported only where there is an API.
      const { ApiServer } = await import('./http/server.ts');
      this.#server = await ApiServer.start(options, this.#app, this.#log);
    } finally {
      resolve();
    }
    this.#state = 'on';
    if (options.secret === undefined) this.#ownListeners.setOpenApi(this.#server.endpoint);
    this.#log.info(`API listening on ${this.#server.address}`);
  }

  /** Binds the released address again, after the reload that was to use it has failed. */
  async #reopen(server: ApiServer): Promise<void> {
    try {
      await server.reopen();
    } catch (error) {
      if (this.#server === server) void this.#close();
      this.#turnOff(error);
      return;
    }
    if (this.#server !== server) server.release(); // stopped meanwhile
  }

  #turnOff(error: unknown): void {
    this.#state = 'off';
    this.#log.error(`${messageOf(error)}; it stays off until [api] changes`);
  }

  /** Binds a new listener. The old one has released its address already, so its responses need not be awaited. */
  async #rebind(options: ApiOptions): Promise<void> {
    try {
      await this.#bind(options);
    } catch (error) {
      this.#turnOff(error);
    }
  }

  async #afterRemoval(finished: Promise<void>): Promise<void> {
    await finished;
    this.#state = 'off';
    this.#log.info('API stopped: the config no longer has [api]');
  }

  /** Stops the listener, if any; resolves when its responses in progress are complete. */
  #close(): Promise<void> | undefined {
    const server = this.#server;
    if (!server) return undefined;
    this.#server = undefined;
    this.#ownListeners.setOpenApi(undefined);
    this.#state = 'stopping';
    const finished = server.stop().finally(() => this.#finishing.delete(finished));
    this.#finishing.add(finished);
    return finished;
  }
}

const isSame = (a: ApiOptions | undefined, b: ApiOptions | undefined): boolean =>
  a === undefined ? b === undefined : a.equals(b);
