import { WeirError } from '@weir/base';
import { systemClock, type Clock, type Timer, unlessAborted } from '@weir/io/time';
import { deserializeError, type SerializedError } from './serialized-error.ts';
import { ValueJoiner, type FirstPiece, type NextPiece } from './value-pieces.ts';

/** The requests that a thread handles, by name: plain data both ways. */
export type Requests<R> = {
  readonly [K in keyof R]: { readonly parameters: unknown; readonly result: unknown };
};

/** A message to a thread. `more` asks for the next piece of a result. */
export type ToThread =
  | {
      readonly kind: 'ask';
      readonly id: number;
      readonly name: string;
      readonly parameters: unknown;
    }
  | { readonly kind: 'more' | 'cancel'; readonly id: number };

/** A message from a thread: the first piece of a result or an error; then further pieces, `undefined` after the last. */
export type FromThread =
  | { readonly kind: 'value'; readonly id: number; readonly first: FirstPiece }
  | { readonly kind: 'piece'; readonly id: number; readonly piece: NextPiece | undefined }
  | { readonly kind: 'failure'; readonly id: number; readonly failure: SerializedError };

/** The members of a `Worker` that TypedWorker uses. */
export interface ThreadHandle {
  on(event: 'message', listener: (message: FromThread) => void): unknown;
  on(event: 'error', listener: (error: unknown) => void): unknown;
  on(event: 'exit', listener: () => void): unknown;
  postMessage(message: ToThread): void;
  ref(): void;
  unref(): void;
  terminate(): Promise<number>;
}

export interface TypedWorkerOptions {
  readonly start: () => ThreadHandle;
  /** Milliseconds after which an idle thread ends, and frees what it has read. */
  readonly idleMs: number;
  readonly clock?: Clock | undefined;
  /** Called when a thread has ended. */
  readonly onEnded?: (() => void) | undefined;
}

interface Pending extends PromiseWithResolvers<unknown> {
  joiner?: ValueJoiner;
}

/**
 * Runs requests in a thread of its own, in which serve-thread.ts handles them. The thread starts with the first request,
 * ends when it has been idle, and is replaced when it fails. It keeps the process alive only while it has a request.
 */
export class TypedWorker<R extends Requests<R>> {
  readonly #options: TypedWorkerOptions;
  readonly #clock: Clock;
  readonly #pending = new Map<number, Pending>();
  #thread: ThreadHandle | undefined;
  #idle: Timer | undefined;
  #requests = 0;

  constructor(options: TypedWorkerOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
  }

  /** Number of requests without a result. */
  get pending(): number {
    return this.#pending.size;
  }

  /**
   * @param signal cancels the request
   * @throws {WeirError} the error of the handler, without its cause
   * @throws the signal's reason
   */
  async ask<K extends keyof R>(
    name: K,
    parameters: R[K]['parameters'],
    signal?: AbortSignal,
  ): Promise<R[K]['result']> {
    signal?.throwIfAborted();
    this.#idle?.cancel();
    const thread = (this.#thread ??= this.#started());
    const id = ++this.#requests;
    const pending: Pending = Promise.withResolvers<unknown>();
    this.#pending.set(id, pending);
    thread.ref();
    try {
      thread.postMessage({ kind: 'ask', id, name: String(name), parameters });
      return await unlessAborted(pending.promise, signal);
    } catch (error) {
      if (this.#pending.delete(id) && signal?.aborted === true) {
        thread.postMessage({ kind: 'cancel', id });
      }
      throw error;
    } finally {
      this.#rest();
    }
  }

  /** Ends the thread; its requests fail with the reason. Resolves when it has ended. */
  async end(reason: Error): Promise<void> {
    const thread = this.#thread;
    this.#thread = undefined;
    this.#idle?.cancel();
    const failed = [...this.#pending.values()];
    this.#pending.clear();
    for (const { reject } of failed) reject(reason);
    if (!thread) return;
    await thread.terminate();
    this.#options.onEnded?.();
  }

  #started(): ThreadHandle {
    const thread = this.#options.start();
    const onFailure = (error: unknown): void => {
      if (thread !== this.#thread) return;
      void this.end(error instanceof Error ? error : new WeirError('internal', String(error)));
    };
    thread.on('message', (message) => this.#take(thread, message));
    thread.on('error', onFailure);
    thread.on('exit', () => onFailure(new WeirError('internal', 'a thread ended before its task')));
    return thread;
  }

  #take(thread: ThreadHandle, message: FromThread): void {
    const { id } = message;
    const pending = this.#pending.get(id);
    if (!pending) return; // cancelled
    switch (message.kind) {
      case 'failure':
        this.#pending.delete(id);
        pending.reject(deserializeError(message.failure));
        return;
      case 'value':
        pending.joiner = new ValueJoiner(message.first);
        if (pending.joiner.isComplete) break;
        thread.postMessage({ kind: 'more', id });
        return;
      case 'piece':
        if (!message.piece) break;
        pending.joiner?.add(message.piece);
        thread.postMessage({ kind: 'more', id });
        return;
      default:
        message satisfies never;
    }
    this.#pending.delete(id);
    pending.resolve(pending.joiner?.value);
  }

  #rest(): void {
    this.#idle?.cancel();
    if (!this.#thread || this.#pending.size > 0) return;
    this.#thread.unref();
    this.#idle = this.#clock.after(this.#options.idleMs, () => {
      void this.end(new WeirError('ended', 'the thread has been idle'));
    });
  }
}
