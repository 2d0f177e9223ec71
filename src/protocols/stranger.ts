import type { Logger } from '../log/logger.ts';
import { ProtocolError } from '../net/errors.ts';

/** A client who named no user of the inbound. The message holds nothing of what he named. */
export class StrangerError extends ProtocolError {}

/** Whose log hears of strangers, and who turned one away. */
export interface StrangerNews {
  readonly log: Logger;
  /** Of the inbound. */
  readonly tag: string;
}

/**
 * Tells the operator of a client who is turned away for who he is not. To be called at once: the
 * client himself may be kept waiting long for the end.
 */
export function tellOfStranger(
  error: unknown,
  { log, tag }: StrangerNews,
  source: string | undefined,
): void {
  if (!(error instanceof StrangerError)) return;
  log.info(`inbound ${tag}: ${source ?? 'a local client'} was turned away: ${error.message}`);
}
