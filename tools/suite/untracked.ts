import { createHook } from 'node:async_hooks';

/**
 * Imported before test files, it keeps node's test runner from following each promise to the test that made it:
 * by an async hook, which takes up to half of the processor time of tests with many promises. It still follows
 * handles and timers. It uses that to name the test of an uncaught error, which fails its file in any case, and
 * to find the suite around a test, which is known without promises where suites are not asynchronous.
 */
type Hook = Record<symbol, unknown>;
const prototype = Object.getPrototypeOf(createHook({})) as { enable: (this: Hook) => Hook };
const { enable } = prototype;

/** Where a hook has it that it follows no promises. */
const plain = createHook({ trackPromises: false }) as unknown as Hook;
const marks = Object.getOwnPropertySymbols(plain).filter((symbol) => plain[symbol] === true);

/** The runner sets its hook when a test or a suite is first defined; others may set theirs before. */
prototype.enable = function enableWithoutPromises() {
  if (new Error().stack?.includes('node:internal/test_runner/') === true) {
    for (const symbol of marks) this[symbol] = true;
    prototype.enable = enable;
  }
  return enable.call(this);
};
