import { ApiClientError } from '../client/api-client.ts';
import { UnprovenApiError } from '../client/proven-agent.ts';
import { codeOf } from '@weir/base';
import type { LostCause } from './contract.ts';

/**
 * The cause of a failed request to the API or to the control socket.
 *
 * @param wasReached whether an earlier request succeeded: a source that ends then may come back
 */
export function lostCause(error: unknown, wasReached: boolean): LostCause {
  const code = systemCode(error);
  if (code === 'EACCES' || code === 'EPERM') return 'forbidden';
  const status = error instanceof ApiClientError ? error.status : undefined;
  if (status === 401) return 'unauthorized';
  if (isForeign(error) || hasCause(error, UnprovenApiError)) return 'other-server';
  if (wasReached) return 'ended';
  if (code === 'ECONNREFUSED' || code === 'ENOENT') return 'refused';
  return status !== undefined || code?.startsWith('HPE_') === true ? 'other-server' : 'other';
}

/** Whether a response was successful and is not the API's: a Weir that ends sends no such response. */
const isForeign = (error: unknown): boolean =>
  error instanceof SyntaxError ||
  hasCause(error, SyntaxError) ||
  (error instanceof ApiClientError && error.status !== undefined && error.status < 300);

function systemCode(error: unknown): string | undefined {
  return error instanceof Error ? codeOf(error.cause) : undefined;
}

const hasCause = (error: unknown, kind: new (text: string) => Error): boolean =>
  error instanceof Error && error.cause instanceof kind;
