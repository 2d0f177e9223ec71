import { shownSource } from '@weir/io/addresses';
import type { Logger } from '@weir/base/log';
import type { Clock } from '@weir/io/time';
import { ProtocolError } from '@weir/io';
import type { InboundMemory } from './inbound-memory.ts';
import { LogLimiter, type LogNote } from '@weir/io/pace';

/**
 * The error of a client that is rejected for a reason that the operator can act on: it is unauthenticated, or requests
 * an unsupported variant of the protocol. The message contains no credential.
 */
export class RejectedClientError extends ProtocolError {}

/** The inbound that rejects clients. */
export interface RejectingInbound {
  readonly log: Logger;
  readonly tag: string;
  readonly clock: Clock;
  /** The memory that keeps the limiter of log lines across reloads. */
  readonly memory: InboundMemory;
}

/**
 * Logs that a client was rejected, at most once a minute for each source. Errors other than
 * RejectedClientError are not logged: they are port scans and broken clients.
 *
 * Must be called at once, before the client's connection is drained.
 */
export function logRejection(
  error: unknown,
  { log, tag, clock, memory }: RejectingInbound,
  source: string | undefined,
): void {
  if (!(error instanceof RejectedClientError)) return;
  const limiter = memory.recall('rejected clients', LogLimiter, () => new LogLimiter(clock));
  const note = limiter.note(source ?? '');
  if (!note) return;
  const client = shownSource(source) ?? 'a local client';
  log.info(`inbound ${tag}: rejected ${client}: ${error.message}${suppressedBefore(note)}`, {
    inbound: tag,
    source: shownSource(source),
    error: error.message,
  });
}

/** Logs that a client could not be accepted because of a failure of this side, at most once a minute. */
export function logAcceptFailure(
  error: Error,
  { log, tag, clock, memory }: RejectingInbound,
): void {
  const limiter = memory.recall('failures to accept', LogLimiter, () => new LogLimiter(clock));
  const note = limiter.note('');
  if (!note) return;
  log.error(
    `inbound ${tag}: a client was not accepted: ${error.message}${suppressedBefore(note)}`,
    {
      inbound: tag,
      error: error.message,
    },
  );
}

function suppressedBefore({ suppressed, others }: LogNote): string {
  if (suppressed === 0) return '';
  const from = others ? ' from other clients' : '';
  return ` (${suppressed} more${from} since the last such line)`;
}
