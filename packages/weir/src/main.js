#!/usr/bin/env node
// @ts-check
import { fileURLToPath } from 'node:url';
import { keepCompiledCode } from '@weir/io/startup';

/** The folder with `node_modules`, from here and from where the bundle is. */
const ROOT = import.meta.url.endsWith('/src/main.js') ? '../../..' : '..';

// Before other modules are loaded: only those after it are added to the compile cache.
keepCompiledCode(fileURLToPath(new URL(ROOT, import.meta.url)));
await import('./process.ts');
