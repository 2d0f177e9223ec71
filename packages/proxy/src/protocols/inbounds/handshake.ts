import { unmapIPv4 } from '@weir/io/addresses';
import { BoundedReader, closeGracefully, type ByteLink, type Carrier } from '@weir/io/links';
import { Deadline, HANDSHAKE_MS } from '@weir/io/time';
import type { Session } from '../../tracker/flow.ts';
import type { InboundContext, Origin } from '../contract.ts';
import type { AuthenticatedUser } from '../users/standing.ts';
import { logRejection } from './rejected-client.ts';
import { originOf } from './serve-flows.ts';

/** A request, with the user that sent it. */
export interface UserRequest {
  readonly user: AuthenticatedUser;
}

/** A request that was accepted, with the origin of its flows. */
export interface AcceptedRequest<Request> {
  readonly request: Request;
  readonly origin: Origin;
}

export interface HandshakeOptions<Request extends UserRequest> {
  /** Bytes of the longest request. */
  readonly limit: number;
  /** Name of the protocol, for the error of a deadline that passed. */
  readonly protocol: string;
  readonly read: (reader: BoundedReader) => Promise<Request>;
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
  { limit, protocol, read }: HandshakeOptions<Request>,
): Promise<AcceptedRequest<Request>> {
  const { clock } = context;
  const source = remote && unmapIPv4(remote.host);
  using deadline = new Deadline(clock, HANDSHAKE_MS, `the ${protocol} handshake`);
  const { signal } = deadline;
  try {
    const request = await readRequest(link, limit, signal, read);
    return { request, origin: originOf(context, source, session, request.user) };
  } catch (error) {
    logRejection(error, context, source);
    await drain(link, signal);
    await closeGracefully(link, clock);
    throw error;
  }
}

/**
 * A separate function, since a rejected client is drained for seconds, during which the frame would hold the reader and
 * its bytes.
 */
async function readRequest<Request>(
  link: ByteLink,
  limit: number,
  signal: AbortSignal,
  read: (reader: BoundedReader) => Promise<Request>,
): Promise<Request> {
  const reader = new BoundedReader(link, limit, signal);
  const request = await read(reader);
  reader.release();
  return request;
}

/** Reads and discards until the client has closed or `signal` aborts. Never rejects. */
export async function drain(link: ByteLink, signal: AbortSignal): Promise<void> {
  try {
    while ((await link.read(signal)) !== undefined);
  } catch {
    // The link failed, or the signal has aborted: the caller closes the link.
  }
}
