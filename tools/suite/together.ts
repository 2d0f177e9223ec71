import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

/** Runs the test files that are its arguments, in one process. */
for (const file of process.argv.slice(2)) await import(pathToFileURL(resolve(file)).href);
