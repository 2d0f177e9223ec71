/** This process: its memory, build and descriptors. */
export { boundYoungHeap, MemoryKeeper } from './platform/process/memory-keeper.ts';
export { OwnMemory, type ProcessMemory, residentBytes } from './platform/process/process-memory.ts';
