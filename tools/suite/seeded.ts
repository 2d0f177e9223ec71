import * as fc from 'fast-check';

/**
 * Imported before test files. Properties draw the same values in every run of a suite, so that one that has passed
 * passes again; `WEIR_TEST_SEED` is another number, or `random`, as with `npm run test:repeat` and a file that is run
 * by itself.
 */
const seed = process.env['WEIR_TEST_SEED'] ?? '2026';
if (seed !== 'random') fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: Number(seed) });
