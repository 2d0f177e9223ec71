import { shownSource, unmapIPv4 } from '@weir/io/addresses';
import type { Logger } from '@weir/base/log';
import { type Clock, Deadline, HANDSHAKE_MS } from '@weir/io/time';
import { ProtocolError } from '@weir/io';
import { LogLimiter, type LogNote } from '@weir/io/pace';
import { BoundedReader, type ByteLink, type Carrier, closeGracefully } from '@weir/io/links';
import type { InboundMemory } from './inbound-memory.ts';
import type { Session } from '../../tracker/flow.ts';
import type { InboundContext, Origin } from '../contract.ts';
import type { AuthenticatedUser } from '../users/accounts.ts';
import { originOf } from './serve-flows.ts';

/**
 * The error of a client that is rejected for a reason that the operator can act on: it is unauthenticated, or requests
 * an unsupported variant of the protocol. The message contains no credential.
 */
export class RejectedClientError extends ProtocolError {}

/** The inbound that rejects clients. */
interface RejectingInbound {
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

/** A request, with the user that sent it. */
export interface UserRequest {
  readonly user: AuthenticatedUser;
}

/** A request that was accepted, with the origin of its flows. */
export interface AcceptedRequest<Request> {
  readonly request: Request;
  readonly origin: Origin;
}

/** How the request that a client begins with is read. */
interface RequestForm<Request> {
  /** Bytes of the longest request. */
  readonly limit: number;
  /** The request in the error of a deadline that passed. */
  readonly what: string;
  readonly read: (reader: BoundedReader, signal: AbortSignal) => Promise<Request>;
}

/**
 * Reads the request that a client begins with, under one time limit. Bytes after the request are put back into the
 * link. Returns the request with the origin of its flows.
 *
 * A client whose request is invalid is rejected without a response, whatever the error, and in the same way as one
 * whose request is incomplete: its bytes are read and discarded until the time limit or its close, and only then does
 * the stream end. An end or a reset before that would reveal where the server stopped reading. The returned promise
 * then rejects with the error.
 */
export async function readHandshake<Request extends UserRequest>(
  { link, remote }: Carrier,
  session: Session,
  context: InboundContext,
  form: RequestForm<Request>,
): Promise<AcceptedRequest<Request>> {
  const { clock } = context;
  const source = remote && unmapIPv4(remote.host);
  try {
    const request = await readOrDrain(link, clock, form, (error) =>
      logRejection(error, context, source),
    );
    return { request, origin: originOf(context, source, session, request.user) };
  } catch (error) {
    await closeGracefully(link, clock);
    throw error;
  }
}

/**
 * Reads a request under one time limit. After an invalid one the client is read until the limit or its close; the
 * promise then rejects with the error, with which `onRefusal` was called at once.
 */
export async function readOrDrain<Request>(
  link: ByteLink,
  clock: Clock,
  form: RequestForm<Request>,
  onRefusal: (error: unknown) => void,
): Promise<Request> {
  using deadline = new Deadline(clock, HANDSHAKE_MS, form.what);
  const { signal } = deadline;
  try {
    return await readRequest(link, signal, form);
  } catch (error) {
    onRefusal(error);
    await drain(link, signal);
    throw error;
  }
}

/**
 * A separate function, since a rejected client is drained for seconds, during which the frame would hold the reader and
 * its bytes.
 */
async function readRequest<Request>(
  link: ByteLink,
  signal: AbortSignal,
  { limit, read }: RequestForm<Request>,
): Promise<Request> {
  const reader = new BoundedReader(link, limit, signal);
  const request = await read(reader, signal);
  reader.release();
  return request;
}

/** Reads and discards until the client has closed or `signal` aborts. Never rejects. */
async function drain(link: ByteLink, signal: AbortSignal): Promise<void> {
  try {
    while ((await link.read(signal)) !== undefined);
  } catch {
    // The link failed, or the signal has aborted: the caller closes the link.
  }
}
