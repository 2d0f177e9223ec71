import { openSelf } from './native.ts';

/** Node's name of a pending look-up by the system resolver. */
const LOOK_UP = 'GetAddrInfoReqWrap';

/**
 * Ends the process at once. `process.exit` joins the thread pool and so waits for every look-up by
 * the system resolver, which takes as long as its servers are silent, and cannot be cancelled.
 */
export function endProcess(status: number): never {
  if (process.getActiveResourcesInfo().includes(LOOK_UP)) exitAtOnce(status);
  process.exit(status);
}

/** Returns where native functions cannot be called. */
function exitAtOnce(status: number): void {
  let exit: (status: number) => void;
  try {
    exit = openSelf().func('void _exit(int status)');
  } catch {
    return; // No native functions on this machine: process.exit takes longer.
  }
  exit(status);
}
