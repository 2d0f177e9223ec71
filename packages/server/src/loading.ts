/** Reads a configuration, in a thread when it is large. */
export { etagOf, loadConfigFile } from './app/loading/inline-runner.ts';
