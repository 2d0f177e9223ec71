import { SendControl } from '@weir/congestion';
import { SentSegments } from '../../../../packages/netstack/src/tcp/recovery/sent-segments.ts';
import { RangeSet } from '@weir/base/bytes';

/**
 * Counts the calls of methods and getters of the tables under recovery and buffers while something runs:
 * every loop over what was sent or received calls at least one of them in each turn.
 */
export function countSteps(run: () => void): number {
  let steps = 0;
  const restore: (() => void)[] = [];
  for (const { prototype } of [SentSegments, RangeSet, SendControl]) {
    for (const [name, descriptor] of Object.entries(Object.getOwnPropertyDescriptors(prototype))) {
      if (name === 'constructor') continue;
      Object.defineProperty(
        prototype,
        name,
        counted(descriptor, () => steps++),
      );
      restore.push(() => Object.defineProperty(prototype, name, descriptor));
    }
  }
  try {
    run();
  } finally {
    for (const undo of restore) undo();
  }
  return steps;
}

function counted(descriptor: PropertyDescriptor, count: () => void): PropertyDescriptor {
  const key = descriptor.get ? 'get' : 'value';
  const original: unknown = Reflect.get(descriptor, key);
  if (typeof original !== 'function') return descriptor;
  return {
    ...descriptor,
    [key](...args: unknown[]): unknown {
      count();
      return Reflect.apply(original, this, args);
    },
  };
}
