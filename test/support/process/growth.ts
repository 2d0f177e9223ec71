/** Long enough for the clock, in microseconds of processor time. */
const BATCH_US = 500;
const BATCHES = 5;

/** How much longer the second input is than the first. */
export const TIMES = 8;

/**
 * The first pair is so short that even cubic work fails instead of taking the suite with it.
 */
const LENGTHS = [128, 1024];

/** Linear work grows eightfold, quadratic work 64-fold: between them there is room for noise. */
export const MOST_GROWTH = 24;

/**
 * How many times more processor time a call takes for an input eight times as long: the largest of
 * what is found for inputs of about 1,000 and 8,000 characters.
 *
 * It counts processor time, so that neighbours on the machine do not show, and takes the least of
 * several batches, so that collectors and compilers of this process do not.
 */
export function growthOf<T>(worst: (length: number) => T, run: (input: T) => unknown): number {
  let most = 0;
  for (const length of LENGTHS) {
    const short = costOf(worst(length), run);
    const long = costOf(worst(TIMES * length), run);
    most = Math.max(most, long / short);
    if (most > MOST_GROWTH) break;
  }
  return most;
}

/** Microseconds of processor time that one call takes. */
function costOf<T>(input: T, run: (input: T) => unknown): number {
  // The first calls run in interpreters.
  let calls = 8;
  let spent = batch(input, run, calls);
  while (spent < BATCH_US && calls < 1 << 20) {
    calls *= 2;
    spent = batch(input, run, calls);
  }
  let least = spent / calls;
  // A call that is slow as it is has nothing to gain from repetition.
  for (let i = 1; i < BATCHES && spent < 50 * BATCH_US; i++) {
    spent = batch(input, run, calls);
    least = Math.min(least, spent / calls);
  }
  return least;
}

function batch<T>(input: T, run: (input: T) => unknown, calls: number): number {
  const start = process.cpuUsage();
  for (let i = 0; i < calls; i++) run(input);
  const { user, system } = process.cpuUsage();
  return user + system - start.user - start.system;
}
