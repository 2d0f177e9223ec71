import { parentPort } from 'node:worker_threads';
import { WeirError } from '@weir/base';
import { serializeError } from './serialized-error.ts';
import type { FromThread, Requests, ToThread } from './typed-worker.ts';
import { ValueSplitter } from './value-pieces.ts';

/** Handlers of the requests of a thread. */
export type ThreadHandlers<R extends Requests<R>> = {
  readonly [K in keyof R]: (
    parameters: R[K]['parameters'],
    signal: AbortSignal,
  ) => Promise<R[K]['result']>;
};

export interface ServeOptions {
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
