import { openSelf } from '../native.ts';

/**
 * Work of the thread pool that may take for ever, as Node names it: look-ups by the system resolver, whose
 * servers may be silent, and calls of the file system, which may be one that does not respond.
 */
const ENDLESS: ReadonlySet<string> = new Set([
  'GetAddrInfoReqWrap',
  'FSReqCallback',
  'FSReqPromise',
]);

let isHeld = false;

/** A thread of this process does not end. Node does not list those. */
export function threadHolds(): void {
  isHeld = true;
}

/**
 * Ends the process. `process.exit` joins the thread pool and all other threads, and so waits for what they
 * do, which cannot be cancelled: where that may take for ever, the process ends without it.
 */
export function endProcess(status: number): never {
  if (isHeld || process.getActiveResourcesInfo().some((name) => ENDLESS.has(name))) {
    exitAtOnce(status);
  }
  process.exit(status);
}

/** Ends the process whatever its threads do; by SIGKILL where native functions cannot be called. */
export function endProcessAtOnce(status: number): never {
  exitAtOnce(status);
  process.kill(process.pid, 'SIGKILL');
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
