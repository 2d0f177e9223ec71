/** The limits of accounts of a running process, and their files. */
export { LimitsKeeper, type LimitsPaths, readLimitsAtStart } from './app/limits/limits-keeper.ts';
