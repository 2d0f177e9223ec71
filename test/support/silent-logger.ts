import type { Logger } from '../../src/log/logger.ts';

/** A logger for tests that do not look at the log. */
export const silentLogger: Logger = {
  error: () => undefined,
  warn: () => undefined,
  info: () => undefined,
  debug: () => undefined,
  trace: () => undefined,
  enabled: () => false,
  target: () => silentLogger,
};
