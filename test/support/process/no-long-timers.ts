/**
 * Loaded before a Weir with `--import`: timers of `WEIR_TEST_LONG_TIMERS_MS` and more, a second by default,
 * never fire. A stop that waits for the end of its grace without need then does not end at all, so that no
 * test has to measure how long it took; and a client that is late on a busy machine meets no time limit.
 */
const LONG_MS = Number(process.env['WEIR_TEST_LONG_TIMERS_MS'] ?? 1_000);
const NEVER_MS = 2 ** 31 - 1;

type Arguments = [callback: (...given: unknown[]) => void, delay?: number, ...given: unknown[]];

globalThis.setTimeout = new Proxy(globalThis.setTimeout, {
  apply(target, _, [callback, delay = 0, ...rest]: Arguments) {
    return target(callback, delay >= LONG_MS ? NEVER_MS : delay, ...rest);
  },
});
