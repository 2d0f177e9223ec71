import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Collections after which an object counts as reachable; one is enough for what nothing refers to. */
const ROUNDS = 10;

/**
 * The objects that survive a full garbage collection. The caller must not refer to them, nor have
 * them in a variable of the function that awaits this.
 */
export async function uncollected(
  refs: readonly WeakRef<object>[],
): Promise<readonly WeakRef<object>[]> {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void; // Node defines it in contexts made after the flag
  let left = refs;
  for (let round = 0; round < ROUNDS && left.length > 0; round++) {
    // A reference that was read is strong until the end of its turn.
    await new Promise((resolve) => setImmediate(resolve));
    collect();
    left = left.filter((ref) => ref.deref() !== undefined);
  }
  return left;
}
