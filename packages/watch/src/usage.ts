/** Recorded usage of a running Weir: a recorder, and questions about what it has recorded. */
export { hourOf, startOfDay } from './usage/periods.ts';
export { recordUsage } from './usage/recorder.ts';
export { UsageDatabaseError } from './usage/schema.ts';
export {
  type NamedUsage,
  type PeriodUsage,
  UsageDatabase,
  type UsageQuestion,
  type UsageSums,
} from './usage/usage-query.ts';
export { type Retention, STANDARD_RETENTION, UsageWriter } from './usage/usage-writer.ts';
