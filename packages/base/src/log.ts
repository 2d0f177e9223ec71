/** Log lines: levels, filters, forms and sinks. */
export {
  BoundedSink,
  createLogger,
  FilterSwitch,
  type LineDevice,
  type LostNotice,
  RecentLines,
  recordLines,
  silentLogger,
  type WrittenLine,
} from './log/output.ts';
export {
  chooseFilter,
  filterText,
  type LogFields,
  type LogFilter,
  type Logger,
  type LogLevel,
  type LogMessage,
  parseFilter,
  passes,
  readsAsTarget,
  unreadDirectives,
} from './log/logger.ts';
export {
  chooseFormat,
  type FileNumbers,
  isJournal,
  jsonLine,
  textLine,
} from './log/line-format.ts';
