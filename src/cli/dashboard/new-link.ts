import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

/** The way in which a user requests another link. */
export interface NewLinks extends Disposable {
  /** Instruction within a sentence: `press Enter`. */
  readonly how: string;
}

/** Not SIGUSR1, which starts Node's debugger. */
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

/** Whether the process is in the foreground. Reading from the terminal suspends a background process of a shell. */
function isInForeground(): boolean {
  try {
    // proc_pid_stat(5): after the name, which may contain any characters, state ppid pgrp session tty_nr tpgid.
    const stat = readFileSync('/proc/self/stat', 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return fields[2] === fields[5];
  } catch {
    return true; // not Linux
  }
}
