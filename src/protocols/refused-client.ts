import type { Logger } from '../log/logger.ts';
import { ProtocolError } from '../net/errors.ts';

/**
 * A client of whom the operator hears: one who named no user of the inbound, or a user who asks for
 * what is not spoken here. The message holds nothing of what was named.
 */
export class RefusedClientError extends ProtocolError {}

/** Whose log hears of refused clients, and who refused them. */
export interface RefusalNews {
  readonly log: Logger;
  /** Of the inbound. */
  readonly tag: string;
}

/**
 * Tells the operator of a client who is turned away; garbage is not worth it. To be called at once:
 * the client himself may be kept waiting long for the end.
 */
export function tellOfRefusal(
  error: unknown,
  { log, tag }: RefusalNews,
  source: string | undefined,
): void {
  if (!(error instanceof RefusedClientError)) return;
  log.info(`inbound ${tag}: ${source ?? 'a local client'} was turned away: ${error.message}`);
}
