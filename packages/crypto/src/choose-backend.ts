/** The implementations of a set of ciphers or of a hash. */
export interface Implementations<Backend> {
  /** The implementation that works on every Node: the reference for the others. */
  readonly baseline: Backend;
  /** Opens the fast implementation. May throw on machines where it is not available. */
  readonly open: () => Backend;
  /** Self-test: whether `candidate` behaves as `truth` does. */
  readonly agrees: (candidate: Backend, truth: Backend) => boolean;
  /** Wraps an implementation to compare each result with `truth`; `undefined` for hashes. */
  readonly checked?: (subject: Backend, truth: Backend) => Backend;
}

/**
 * Returns the fastest implementation that passes its self-test on this machine, otherwise the baseline.
 * @param setting value of the environment variable WEIR_CRYPTO: `baseline` never calls native code, `checked` (for tests)
 * compares every message with the baseline and reports ciphers that were not disposed of.
 */
export function chooseBackend<Backend>(
  implementations: Implementations<Backend>,
  setting: string | undefined,
): Backend {
  const { baseline, checked } = implementations;
  if (setting === 'baseline') return baseline;
  const fast = fastest(implementations);
  return setting === 'checked' && checked ? checked(fast, baseline) : fast;
}

function fastest<Backend>({ baseline, open, agrees }: Implementations<Backend>): Backend {
  try {
    const candidate = open();
    return agrees(candidate, baseline) ? candidate : baseline;
  } catch {
    return baseline; // No native functions on this machine.
  }
}
