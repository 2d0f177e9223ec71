/** The implementations of a set of ciphers, or of a hash. */
export interface Implementations<Backend> {
  /** Works on every Node: the reference that others are compared with. */
  readonly baseline: Backend;
  /** Opens the fast implementation. May throw on machines that lack it. */
  readonly open: () => Backend;
  /** The self-test: whether an implementation behaves as `truth` does. */
  readonly agrees: (candidate: Backend, truth: Backend) => boolean;
  /** An implementation that compares each result with `truth`; none for hashes. */
  readonly checked?: (subject: Backend, truth: Backend) => Backend;
}

/**
 * The fastest implementation that passes its self-test on this machine, else the baseline.
 *
 * @param wish the environment variable WEIR_CRYPTO: `baseline` never calls native code, `checked` (for
 *   tests) compares every message with the baseline and reports ciphers that were not disposed of.
 */
export function chooseBackend<Backend>(
  implementations: Implementations<Backend>,
  wish: string | undefined,
): Backend {
  const { baseline, checked } = implementations;
  if (wish === 'baseline') return baseline;
  const fast = fastest(implementations);
  return wish === 'checked' && checked ? checked(fast, baseline) : fast;
}

function fastest<Backend>({ baseline, open, agrees }: Implementations<Backend>): Backend {
  try {
    const candidate = open();
    return agrees(candidate, baseline) ? candidate : baseline;
  } catch {
    return baseline; // No native functions on this machine.
  }
}
