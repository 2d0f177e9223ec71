import { writeFileSync } from 'node:fs';

/**
 * Names the process as its command is called, for `ps`, `top`, `pkill` and the journal, which otherwise show
 * the name that Node gives its main thread: proc(5), /proc/pid/comm. The command line stays as it is,
 * which `process.title` would overwrite.
 */
export function nameProcess(): void {
  if (process.platform !== 'linux') return;
  try {
    writeFileSync('/proc/self/comm', 'weir');
  } catch {
    // Without /proc the name is the one that it was.
  }
}
