import { WeirError, messageOf } from '../errors.ts';
import type { Logger } from '../log/logger.ts';

/**
 * A defect met while serving one connection must not end all the others: it is logged with its
 * stack, for it has to be mended, and the process goes on.
 */
export function surviveDefects(log: Logger): void {
  process.on('uncaughtException', (error) => log.error(describeDefect(error)));
  process.on('unhandledRejection', (reason) => log.error(describeDefect(reason)));
}

/** What a person needs to report it. */
function describeDefect(error: unknown): string {
  const detail = error instanceof Error && !(error instanceof WeirError) ? error.stack : undefined;
  return `internal error: ${detail ?? messageOf(error)}`;
}
