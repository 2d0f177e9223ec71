import { getHeapStatistics } from 'node:v8';
import { parentPort, type ResourceLimits } from 'node:worker_threads';
import { codeOf, hintsOf, messageOf, WeirError } from '@weir/base';
import {
  ConfigError,
  type ConfigErrorKind,
  type ConfigLocation,
  DocumentReadError,
} from '@weir/config';
import type { ForeignFormat } from '@weir/config/documents';
import { type Clock, systemClock, type Timer, unlessAborted } from '@weir/io/time';

const MIB = 1024 * 1024;

/**
 * Limit of the old generation of the thread's heap in MiB: enough for configurations of some 80 MB. With a larger limit
 * V8 collects only at four times the size of the live objects, with this one at twice.
 */
const MAX_OLD_GENERATION = 2000;

/** Limit of the young generation in MiB: room for the short-lived syntax trees of some slices. */
const MAX_YOUNG_GENERATION = 16;

/** Limits of the thread's heap, none above that of the process. */
export function threadLimits(): ResourceLimits {
  const own = Math.floor(getHeapStatistics().heap_size_limit / MIB);
  return {
    maxOldGenerationSizeMb: Math.min(own, MAX_OLD_GENERATION),
    maxYoungGenerationSizeMb: MAX_YOUNG_GENERATION,
  };
}

/** An error as plain data: `structuredClone` preserves neither its class nor its fields. */
export interface SerializedError {
  readonly message: string;
  readonly code: string;
  /** The hints of the error and of its causes, which are not transferred. */
  readonly hint: string | undefined;
  /** Present for a ConfigError. */
  readonly config:
    | {
        readonly kind: ConfigErrorKind;
        readonly location: ConfigLocation | undefined;
        readonly subject: string | undefined;
        readonly showsPlace: boolean;
        readonly format: ForeignFormat | undefined;
        /** Whether the error is a DocumentReadError. */
        readonly unread: boolean;
      }
    | undefined;
}

export function serializeError(error: unknown): SerializedError {
  const message = messageOf(error);
  const code = codeOf(error) ?? 'internal';
  const hint = hintsOf(error).join('\n') || undefined;
  if (!(error instanceof ConfigError)) return { message, code, hint, config: undefined };
  const { kind, location, subject, showsPlace, format } = error;
  const unread = error instanceof DocumentReadError;
  return { message, code, hint, config: { kind, location, subject, showsPlace, format, unread } };
}

/** Recreates the error, without its cause. */
export function deserializeError({ message, code, hint, config }: SerializedError): WeirError {
  if (!config) return new WeirError(code, message, { hint });
  const options = { ...config, hint };
  return new (config.unread ? DocumentReadError : ConfigError)(config.kind, message, options);
}

/** Maximum number of a list's items per message: deserialising a few thousand small objects takes a millisecond. */
const PIECE = 256;

/** The first message of a value: the value without the items of its long lists. */
interface FirstPiece {
  readonly value: unknown;
  /** The long lists of `value`, still empty. */
  readonly lists: readonly unknown[][];
}

/** Further items of one of the lists. */
interface NextPiece {
  readonly list: number;
  readonly items: readonly unknown[];
}

/**
 * Splits a value of plain data into messages that the receiver deserialises quickly: each message is deserialised
 * without interruption, so a configuration of several megabytes would block everything else.
 *
 * The long lists are emptied in the process, so the sender must not use the value afterwards.
 */
export class ValueSplitter {
  readonly first: FirstPiece;
  readonly #rest: { readonly list: number; readonly items: unknown[] }[];
  #at = 0;

  constructor(value: unknown) {
    const lists: unknown[][] = [];
    this.#rest = [];
    for (const list of longLists(value)) {
      this.#rest.push({ list: lists.length, items: list.splice(0) });
      lists.push(list);
    }
    this.first = { value, lists };
  }

  /** The next piece; `undefined` after the last. */
  next(): NextPiece | undefined {
    const [source] = this.#rest;
    if (!source) return undefined;
    const { list, items } = source;
    const piece = { list, items: items.slice(this.#at, this.#at + PIECE) };
    this.#at += PIECE;
    if (this.#at >= items.length) {
      this.#rest.shift();
      this.#at = 0;
    }
    return piece;
  }

  /** Buffers of the first piece that no other piece refers to, and that can be transferred with it. */
  transferable(): ArrayBuffer[] {
    const held = buffersOf(this.#rest);
    return [...buffersOf(this.first)].filter((buffer) => !held.has(buffer));
  }
}

/** Reassembles the value of a ValueSplitter. */
export class ValueJoiner {
  readonly #first: FirstPiece;

  constructor(first: FirstPiece) {
    this.#first = first;
  }

  /** Whether `value` is complete without any further piece. */
  get isComplete(): boolean {
    return this.#first.lists.length === 0;
  }

  add({ list, items }: NextPiece): void {
    this.#first.lists[list]?.push(...items);
  }

  get value(): unknown {
    return this.#first.value;
  }
}

/** The lists that are too long for one message, except for those within such a list. */
function longLists(value: unknown, found = new Set<unknown[]>()): Set<unknown[]> {
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return found;
  if (Array.isArray(value) && value.length > PIECE) return found.add(value);
  for (const part of Object.values(value)) longLists(part, found);
  return found;
}

/**
 * The distinct buffers of a value of plain data. A partly used buffer, such as the pool of small `Buffer`s, is left
 * out: the rest may be in use elsewhere.
 */
function buffersOf(value: unknown, found = new Set<ArrayBuffer>()): Set<ArrayBuffer> {
  if (ArrayBuffer.isView(value)) {
    const { buffer, byteLength } = value;
    if (buffer instanceof ArrayBuffer && buffer.byteLength === byteLength) found.add(buffer);
  } else if (typeof value === 'object' && value !== null) {
    for (const part of Object.values(value)) buffersOf(part, found);
  }
  return found;
}

/** The requests that a thread handles, by name: plain data both ways. */
type Requests<R> = {
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

interface TypedWorkerOptions {
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
 * Runs requests in a thread of its own, in which `serveThread` handles them. The thread starts with the first request,
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

/** Handlers of the requests of a thread. */
type ThreadHandlers<R extends Requests<R>> = {
  readonly [K in keyof R]: (
    parameters: R[K]['parameters'],
    signal: AbortSignal,
  ) => Promise<R[K]['result']>;
};

interface ServeOptions {
  /**
   * Whether results are sent in pieces, for a receiver that carries traffic: deserialising megabytes at once would stop
   * it. A result must not be used after that.
   */
  readonly inPieces?: boolean;
}

/** Handles the requests of a TypedWorker; called once, in its thread. */
export function serveThread<R extends Requests<R>>(
  handlers: ThreadHandlers<R>,
  { inPieces = false }: ServeOptions = {},
): void {
  const running = new Map<number, AbortController>();
  const splitters = new Map<number, ValueSplitter>();
  const send = (message: FromThread, transfer: ArrayBuffer[] = []): void =>
    parentPort?.postMessage(message, transfer);
  const onAsk = async (id: number, name: keyof R, parameters: unknown): Promise<void> => {
    const controller = new AbortController();
    running.set(id, controller);
    try {
      const value = await handlers[name](parameters, controller.signal);
      if (!inPieces) return send({ kind: 'value', id, first: { value, lists: [] } });
      const splitter = new ValueSplitter(value);
      if (splitter.first.lists.length > 0) splitters.set(id, splitter);
      send({ kind: 'value', id, first: splitter.first }, splitter.transferable());
    } catch (error) {
      send({ kind: 'failure', id, failure: serializeError(error) });
    } finally {
      running.delete(id);
    }
    return undefined;
  };
  parentPort?.on('message', (message: ToThread) => {
    const { id } = message;
    switch (message.kind) {
      case 'ask':
        // A defect becomes an unhandled rejection, which ends the thread and fails its requests.
        void onAsk(id, message.name as keyof R, message.parameters);
        return;
      case 'cancel':
        running.get(id)?.abort(new WeirError('cancelled', 'the request was given up'));
        splitters.delete(id);
        return;
      case 'more': {
        const piece = splitters.get(id)?.next();
        if (!piece) splitters.delete(id);
        send({ kind: 'piece', id, piece });
        return;
      }
      default:
        message satisfies never;
    }
  });
}
