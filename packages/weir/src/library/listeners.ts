import type { ListenerView } from '@weir/server/supervisor/listener-view';
import { untilEnd, type EventStream } from './streams.ts';

/** The listeners of a running proxy. */
interface Listeners {
  readonly listeners: readonly ListenerView[];
  /** Calls back when they may have changed, until the returned function is called. */
  onListeners(changed: () => void): () => void;
}

/** A stream of all listeners after each change; a reader that falls behind gets the newest. */
export const listenerEvents = (
  source: Listeners,
  end: AbortSignal,
): EventStream<readonly ListenerView[]> =>
  untilEnd(end, (signal) => {
    let seen = JSON.stringify(source.listeners);
    let change = Promise.withResolvers<void>();
    const off = source.onListeners(() => change.resolve());
    const close = (): void => {
      off();
      change.resolve();
    };
    signal.addEventListener('abort', close, { once: true });
    if (signal.aborted) close();
    return async () => {
      for (;;) {
        await change.promise;
        if (signal.aborted) return undefined;
        change = Promise.withResolvers();
        const { listeners } = source;
        const now = JSON.stringify(listeners);
        if (now === seen) continue;
        seen = now;
        return listeners;
      }
    };
  });
