#!/usr/bin/env node
// @ts-check
import { fileURLToPath } from 'node:url';
import {
  keepCompiledCode,
  nameProcess,
  resolveEntriesOnce,
  widenThreadPool,
  writeCompiledCode,
} from '@weir/io/startup';

const IS_SOURCE = import.meta.url.endsWith('/src/main.js');

/** The folder with `node_modules`, from here and from where the bundle is. */
const ROOT = IS_SOURCE ? '../../..' : '..';

/** Milliseconds until the code of what a command has loaded by then is written too: it may go on until it is killed. */
const COMPILED_AFTER_MS = 10_000;

nameProcess();
// The first statements: the size of the thread pool is fixed at its first use, and only modules loaded afterwards are
// added to the compile cache.
widenThreadPool(process.env);
keepCompiledCode(fileURLToPath(new URL(ROOT, import.meta.url)));
if (IS_SOURCE) resolveEntriesOnce();
const { main } = await import('./cli/main.ts');
const { endProcess } = await import('@weir/io/platform/process/end-process');

setTimeout(writeCompiledCode, COMPILED_AFTER_MS).unref();
const status = await main(process.argv.slice(2));
// Written now: `endProcess` may skip Node's exit path, which would do it.
writeCompiledCode();
endProcess(status);
