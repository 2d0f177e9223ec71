/** Listeners by the promise that they wait for; a single reaction of the promise calls them all. */
const listenersOf = new WeakMap<Promise<unknown>, Set<() => void>>();

/**
 * Calls `listener` once `closed` has resolved, unless the returned function is called before.
 *
 * For listeners that end before the link: a reaction of a promise cannot be removed, so
 * `closed.then(…)` would keep everything that it references while the link is open. `closed` must be
 * the same promise for all listeners of a link, and must not reject.
 */
export function onClosed(closed: Promise<unknown>, listener: () => void): () => void {
  const listeners = listenersOf.get(closed) ?? listen(closed);
  // A new function, so that a listener that was added twice can be removed once.
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
