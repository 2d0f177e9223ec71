/** Nodes from the URLs of providers. */
export type { LeftOut } from './subscribe/answer/read-answer.ts';
export type { Userinfo } from './subscribe/answer/userinfo.ts';
export { currentNodes, type Marker } from './subscribe/nodes/node-file.ts';
export type { Source } from './subscribe/source.ts';
export { addSource } from './subscribe/update/add-source.ts';
export { type ListedSource, listSources } from './subscribe/update/list-sources.ts';
export { removeSource } from './subscribe/update/remove-source.ts';
export type { SourceOutcome } from './subscribe/update/update-source.ts';
export { updateTools } from './subscribe/update/update-tools.ts';
export { updateSources, type UpdateTools } from './subscribe/update/update.ts';
export { nodeFileOf, openWorkspace } from './subscribe/update/workspace.ts';
