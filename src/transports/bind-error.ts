import { codeOf, messageOf, WeirError } from '../errors.ts';

/** A listener that could not be bound. */
export class BindError extends WeirError {
  constructor(where: string, cause: unknown) {
    super('bind', `cannot listen on ${where}: ${bindReason(cause)}`, { cause });
  }
}

const REASONS: Readonly<Record<string, string>> = {
  EADDRINUSE: 'address already in use',
  EADDRNOTAVAIL: 'this host has no such address',
  EACCES: 'permission denied',
};

/** Why an address could not be bound, in words. */
export const bindReason = (cause: unknown): string =>
  REASONS[codeOf(cause) ?? ''] ?? messageOf(cause);
