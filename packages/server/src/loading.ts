/** Reads a configuration: a large one in a thread, and one that is not a file from a stream. */
export { loadAtStart } from './app/loading/config-loader.ts';
export { configProblem, etagOf, loadConfigFile, pairProblem } from './app/loading/inline-runner.ts';
export { type PreparedConfig, toLoadResult, toPreparedConfig } from './app/loading/tasks.ts';
export { readStreamConfig } from './app/stream-config.ts';
