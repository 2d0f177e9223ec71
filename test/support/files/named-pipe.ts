import { execFileSync } from 'node:child_process';

/** Makes a named pipe: to open it for reading waits for a writer. */
export const makeNamedPipe = (path: string): void => void execFileSync('mkfifo', [path]);
