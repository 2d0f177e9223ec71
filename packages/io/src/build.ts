/** What runs: the commit of Weir, and the release of Node. */
export { type Build, buildText } from './platform/process/build.ts';
export { datedNode, nodeWarning, securityOf } from './platform/process/node-releases.ts';
export { ownBuild } from './platform/process/own-build.ts';
