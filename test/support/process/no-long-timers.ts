/**
 * Loaded before a Weir with `--import`: timers of a second and more never fire. A stop that waits for the end
 * of its grace without need then does not end at all, so that no test has to measure how long it took.
 */
const LONG_MS = 1_000;
const NEVER_MS = 2 ** 31 - 1;

globalThis.setTimeout = new Proxy(globalThis.setTimeout, {
  apply(target, self, [callback, delay, ...rest]: Parameters<typeof setTimeout>) {
    const wanted = delay !== undefined && delay >= LONG_MS ? NEVER_MS : delay;
    return Reflect.apply(target, self, [callback, wanted, ...rest]) as NodeJS.Timeout;
  },
});
