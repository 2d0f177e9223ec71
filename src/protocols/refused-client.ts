import type { Logger } from '../log/logger.ts';
import type { Clock } from '../net/clock.ts';
import { ProtocolError } from '../net/errors.ts';
import type { InboundMemory } from './inbound-memory.ts';
import { RefusalTable, type RefusalNote } from './refusal-table.ts';

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
  readonly clock: Clock;
  /** Of the inbound: a reload does not repeat what was told. */
  readonly memory: InboundMemory;
}

/**
 * Tells the operator of a client who is turned away; garbage is not worth it, nor is one who was
 * told of a minute ago. To be called at once: the client himself may be kept waiting long for the
 * end.
 */
export function tellOfRefusal(
  error: unknown,
  { log, tag, clock, memory }: RefusalNews,
  source: string | undefined,
): void {
  if (!(error instanceof RefusedClientError)) return;
  const table = memory.recall('refused clients', RefusalTable, () => new RefusalTable(clock));
  const note = table.note(source ?? '');
  if (!note) return;
  const who = source ?? 'a local client';
  log.info(`inbound ${tag}: ${who} was turned away: ${error.message}${untoldBefore(note)}`);
}

function untoldBefore({ untold, others }: RefusalNote): string {
  if (untold === 0) return '';
  const times = untold === 1 ? 'once' : `${untold} times`;
  return others
    ? ` (others as well, ${times} since the last such line)`
    : ` (${times} more since the last such line)`;
}
