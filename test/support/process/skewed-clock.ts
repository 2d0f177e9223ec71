/**
 * Loaded before a Weir with `--import`: its wall clock is `WEIR_TEST_SKEW_MS` off. The program
 * itself is unchanged, and deadlines, which run on the monotonic clock, are not affected.
 */
const skew = Number(process.env['WEIR_TEST_SKEW_MS'] ?? 0);
const now = Date.now.bind(Date);
Date.now = () => now() + skew;
