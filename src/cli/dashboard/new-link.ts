import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

/** How a user gets another link. */
export interface NewLinks extends Disposable {
  /** For a sentence: `press Enter`. */
  readonly how: string;
}

/** SIGUSR1 starts Node's debugger. */
const SIGNAL = 'SIGUSR2';

/** Calls `print` at each Enter in the terminal, if there is one, and at each SIGUSR2. */
export function onNewLink(print: () => void): NewLinks {
  process.on(SIGNAL, print);
  const lines =
    process.stdin.isTTY && isInForeground() ? createInterface(process.stdin) : undefined;
  lines?.on('line', print);
  return {
    how: lines ? 'press Enter' : `send ${SIGNAL} to process ${process.pid}`,
    [Symbol.dispose]: () => {
      process.off(SIGNAL, print);
      lines?.close();
    },
  };
}

/** Reading from the terminal stops a process that a shell runs in the background. */
function isInForeground(): boolean {
  try {
    // proc_pid_stat(5): after the name, which may have any characters, state ppid pgrp session tty_nr tpgid.
    const stat = readFileSync('/proc/self/stat', 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return fields[2] === fields[5];
  } catch {
    return true; // Not Linux.
  }
}
