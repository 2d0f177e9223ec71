/**
 * Loaded before a Node child with `--import` and `--expose-gc`: on SIGUSR2 it collects garbage until
 * all finalizers of collected objects have run, and then reports that on standard error.
 */
process.on('SIGUSR2', () => {
  const ROUNDS = 5;
  const collect = (left: number): void => {
    globalThis.gc?.();
    // Finalizers run in turns of their own after a collection.
    if (left > 0) setImmediate(collect, left - 1);
    else process.stderr.write('collected\n');
  };
  collect(ROUNDS);
});
