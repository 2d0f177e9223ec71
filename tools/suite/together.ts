import { resolve } from 'node:path';
import { before } from 'node:test';
import { pathToFileURL } from 'node:url';

/**
 * Runs the test files that are its arguments, in one process. Tests begin when all are loaded: what a file defines
 * while a test runs would count as part of that test, unless node followed every promise.
 */
const loaded = Promise.withResolvers<void>();
before(() => loaded.promise);
for (const file of process.argv.slice(2)) await import(pathToFileURL(resolve(file)).href);
loaded.resolve();
