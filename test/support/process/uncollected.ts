import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Collections without effect after which what is left counts as reachable; one is enough for most objects. */
const ROUNDS = 3;

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
  for (let idle = 0; idle < ROUNDS && left.length > 0; idle++) {
    const before = left.length;
    // A reference that was read is strong until the end of its turn.
    await new Promise((resolve) => setImmediate(resolve));
    collect();
    left = left.filter((ref) => ref.deref() !== undefined);
    if (left.length < before) idle = -1;
  }
  return left;
}
