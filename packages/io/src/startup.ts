/** What a process does before it loads anything else. */
export { keepCompiledCode, writeCompiledCode } from './platform/process/compile-cache.ts';
