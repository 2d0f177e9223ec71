/** Finds a running Weir by its configuration. */
export { findRunning, type RunningSearch, RunningWeir } from './client/find-running.ts';
