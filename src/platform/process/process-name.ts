import { writeFileSync } from 'node:fs';

/**
 * Sets the process name for `ps`, `top`, `pkill` and the journal, which otherwise show the name of
 * Node's main thread: proc(5), /proc/pid/comm. Unlike `process.title`, does not overwrite the
 * command line.
 */
export function nameProcess(): void {
  if (process.platform !== 'linux') return;
  try {
    writeFileSync('/proc/self/comm', 'weir');
  } catch {
    // Without /proc the name is unchanged.
  }
}
