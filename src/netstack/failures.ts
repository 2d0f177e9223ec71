import { shownEndpoint } from '../net/addresses/shown-address.ts';
import { WeirError } from '../errors.ts';
import type { Endpoint } from '../net/addresses/address.ts';
import { DialError, type DialErrorCode } from '../net/errors.ts';
import type { TcpFailure } from './tcp/state.ts';

const TEXTS: Readonly<Record<TcpFailure, string>> = {
  refused: 'connection refused',
  reset: 'the connection was reset',
  timeout: 'the connection timed out',
  unreachable: 'no route to the host',
  aborted: 'the connection was aborted',
};

const CODES: Readonly<Record<TcpFailure, DialErrorCode>> = {
  refused: 'refused',
  reset: 'refused',
  timeout: 'timed_out',
  unreachable: 'unreachable_host',
  aborted: 'aborted',
};

/** The failure of a TCP connection of the stack. */
export class TcpFailedError extends WeirError {
  readonly failure: TcpFailure;

  constructor(failure: TcpFailure) {
    super('tcp_failed', TEXTS[failure]);
    this.failure = failure;
  }
}

/** The error of a dial whose connection failed before it was established. */
export const dialFailed = (failure: TcpFailure, target: Endpoint, cause?: unknown): DialError =>
  new DialError(CODES[failure], `${shownEndpoint(target)}: ${TEXTS[failure]}`, { cause });
