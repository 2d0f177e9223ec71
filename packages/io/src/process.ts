/** This process: its memory and compiler, and the builds of Weir and Node that it runs. */
export {
  type Build,
  buildText,
  datedNode,
  nodeWarning,
  securityOf,
} from './platform/process/build.ts';
export { compileSparingly } from './platform/process/compiler.ts';
export {
  boundYoungHeap,
  MemoryKeeper,
  OwnMemory,
  type ProcessMemory,
  residentBytes,
} from './platform/process/memory.ts';
export { ownBuild } from './platform/process/own-build.ts';
