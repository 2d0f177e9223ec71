/** Recorded usage of a running Weir: a recorder, and questions about what it has recorded. */
export { isSome } from './usage/counts.ts';
export { recordUsage } from './usage/recorder.ts';
export { UsageDatabase, type UsageSums } from './usage/usage-query.ts';
export { STANDARD_RETENTION, UsageWriter } from './usage/usage-writer.ts';
