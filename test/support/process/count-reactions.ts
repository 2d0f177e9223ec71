import { mock } from 'node:test';

/** Counts from now on how often a promise is given a reaction, which cannot be taken back. */
export function countReactions(promise: Promise<unknown>): () => number {
  const { mock: calls } = mock.method(promise, 'then');
  return () => calls.callCount();
}
