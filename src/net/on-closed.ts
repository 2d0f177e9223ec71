/** Listeners by the promise that they wait for, whose only reaction calls them all. */
const listenersOf = new WeakMap<Promise<unknown>, Set<() => void>>();

/**
 * Calls `listener` once, after `closed` has resolved, unless the returned function is called before.
 *
 * For what ends before the link that it watches: a reaction of a promise cannot be removed, so
 * `closed.then(…)` keeps all that it refers to for as long as the link is open. `closed` must be one
 * and the same promise for all listeners of a link, and must not reject.
 */
export function onClosed(closed: Promise<unknown>, listener: () => void): () => void {
  const listeners = listenersOf.get(closed) ?? listen(closed);
  // Of its own, so that a listener that is given twice can be removed once.
  const call = (): void => listener();
  listeners.add(call);
  return () => void listeners.delete(call);
}

function listen(closed: Promise<unknown>): Set<() => void> {
  const listeners = new Set<() => void>();
  listenersOf.set(closed, listeners);
  void closed.then(() => {
    listenersOf.delete(closed);
    for (const call of listeners) call();
    listeners.clear();
  });
  return listeners;
}
