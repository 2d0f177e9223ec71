/** Log lines: levels, filters, forms and sinks. */
export { BoundedSink, type LineDevice, type LostNotice } from './log/bounded-sink.ts';
export {
  chooseFilter,
  filterText,
  type LogFilter,
  parseFilter,
  passes,
  readsAsTarget,
  unreadDirectives,
} from './log/filter.ts';
export {
  chooseFormat,
  type FileNumbers,
  isJournal,
  jsonLine,
  textLine,
} from './log/line-format.ts';
export type { LogFields, Logger, LogLevel } from './log/logger.ts';
export { createLogger, FilterSwitch, recordLines, silentLogger } from './log/output.ts';
export { RecentLines, type WrittenLine } from './log/recent-lines.ts';
