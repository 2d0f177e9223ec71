/**
 * Calls a function of the host program. What it throws becomes an uncaught exception of the host, and does not affect
 * the caller, whose work goes on.
 */
export function callHost(call: () => void): void {
  try {
    call();
  } catch (error) {
    queueMicrotask(() => {
      throw error;
    });
  }
}
