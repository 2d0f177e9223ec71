/**
 * Loaded before a Weir with `--import`: its wall clock is `WEIR_TEST_SKEW_MS` off. Nothing of the
 * program knows of it, and deadlines, which run on another clock, stay as they are.
 */
const skew = Number(process.env['WEIR_TEST_SKEW_MS'] ?? 0);
const now = Date.now.bind(Date);
Date.now = () => now() + skew;
