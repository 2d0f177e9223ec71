import { openSelf } from '../native.ts';

/**
 * Node's names of thread pool work that may never end: look-ups by the system resolver, whose
 * servers may not respond, and file system calls, which may hang.
 */
const ENDLESS: ReadonlySet<string> = new Set([
  'GetAddrInfoReqWrap',
  'FSReqCallback',
  'FSReqPromise',
]);

let isHeld = false;

/** Declares that a thread of this process may never end; Node does not list threads. */
export function threadHolds(): void {
  isHeld = true;
}

/**
 * Ends the process. `process.exit` joins the thread pool and all other threads, and so waits for
 * their work, which cannot be cancelled. If that may never end, the process ends without joining
 * them.
 */
export function endProcess(status: number): never {
  if (isHeld || process.getActiveResourcesInfo().some((name) => ENDLESS.has(name))) {
    exitAtOnce(status);
  }
  process.exit(status);
}

/**
 * Ends the process without joining its threads; by SIGKILL if native functions cannot be called.
 */
export function endProcessAtOnce(status: number): never {
  exitAtOnce(status);
  process.kill(process.pid, 'SIGKILL');
  process.exit(status);
}

/** Exits at once. Returns only if native functions cannot be called. */
function exitAtOnce(status: number): void {
  let exit: (status: number) => void;
  try {
    exit = openSelf().func('void _exit(int status)');
  } catch {
    return; // No native functions on this machine: process.exit takes longer.
  }
  exit(status);
}
