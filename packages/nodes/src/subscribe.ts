/** Nodes from the URLs of providers. */
export type { LeftOut } from './subscribe/answer/read-answer.ts';
export type { Userinfo } from './subscribe/files/state-file.ts';
export { currentNodes, type Marker } from './subscribe/nodes/node-file.ts';
export type { Source } from './subscribe/source.ts';
export {
  addSource,
  type ListedSource,
  listSources,
  removeSource,
} from './subscribe/update/sources.ts';
export type { SourceOutcome } from './subscribe/update/update-source.ts';
export { updateTools, updateSources, type UpdateTools } from './subscribe/update/update.ts';
export { nodeFileOf, openWorkspace } from './subscribe/update/workspace.ts';
