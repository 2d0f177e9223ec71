import { hintsOf, messageOf } from '@weir/base';
import { printable } from '@weir/base/printable';
import { ConfigError, DocumentReadError, renderConfigError } from '@weir/config';
import { ControlError } from '../api/contract.ts';
import {
  type AppliedReport,
  ApplyError,
  type ApplyErrorCode,
  type ReloadReport,
} from '../supervisor/reload-report.ts';

/**
 * Converts an error for the caller of an operation: `invalid` when the files have to be corrected, `failed` for every
 * other cause (an unreadable file, an address in use, a process that is stopping).
 */
export function toControlError(error: unknown): ControlError {
  if (error instanceof ControlError) return error;
  return new ControlError(isInvalid(error) ? 'invalid' : 'failed', messageOf(error), {
    cause: error,
    hint: () => hintsOf(error).join('\n') || undefined,
  });
}

/**
 * Converts an error as `toControlError`, for an operation that only reads the files; the message names a path that
 * cannot be read.
 */
export function toReadError(error: unknown, path: string | undefined): ControlError {
  if (!(error instanceof DocumentReadError) || path === undefined) return toControlError(error);
  const code = isInvalid(error) ? 'invalid' : 'failed';
  return new ControlError(code, `${path}: ${error.message}`, { cause: error });
}

/** Errors that other files would not fix. */
const NOT_THE_FILES: ReadonlySet<ApplyErrorCode> = new Set(['bind', 'stopped', 'draining']);

function isInvalid(error: unknown): boolean {
  if (error instanceof ConfigError) return error.kind === 'invalid';
  if (error instanceof ApplyError) return !NOT_THE_FILES.has(error.code);
  return false;
}

const KEEPING = 'keeping the running config';

/** Summarises a reload in one line: the names of changed parts, and the number of unchanged ones. */
export function summaryOf(report: AppliedReport): string {
  const { built, swapped, drained, rebound, restarted, removed, reused } = report;
  // An inbound of which only the users have changed is named by them.
  const inPlace = swapped.filter((tag) => !built.includes(USERS + tag));
  const parts = [
    listed(
      'built',
      built.map((name) => name.replace(USERS, 'users of ')),
    ),
    listed('changed in place:', inPlace.map(asInbound)),
    listed(
      'ends with its last flow:',
      drained.map((version) => `outbound ${version}`),
    ),
    listed('listens elsewhere:', rebound.map(asInbound)),
    listed('restarted:', restarted.map(asInbound)),
    listed('removed:', removed.map(asInbound)),
  ].filter((part) => part !== '');
  if (parts.length === 0) return 'nothing that runs has changed';
  return printable([...parts, `${reused.length} unchanged`].join('; '));
}

/** Prefix of the name of an inbound's accounts in a report. */
const USERS = 'user set ';

const asInbound = (tag: string): string => `inbound ${tag}`;

const listed = (what: string, items: readonly string[]): string =>
  items.length === 0 ? '' : `${what} ${items.join(', ')}`;

/** The log line of a failed reload. @param error the rejection of the reload */
export function reloadFailureLine(error: Error): string {
  const { cause } = error;
  if (cause instanceof ApplyError && cause.code === 'disruptive') {
    return `reload refused, ${KEEPING}: ${cause.message}`;
  }
  if (cause instanceof ApplyError && cause.code === 'stopped') return `reload: ${error.message}`;
  if (cause instanceof ConfigError) {
    const place = renderConfigError(cause).slice(cause.message.length);
    return `reload: configuration invalid: ${error.message}; ${KEEPING}${place}`;
  }
  return `reload: ${messageOf(error)}; ${KEEPING}`;
}

/** The outcome of a reload, without the details of the report. */
export type ReloadOutcome =
  | { readonly kind: 'applied'; readonly summary: string }
  | { readonly kind: 'unchanged' }
  /** `line` is the log message. */
  | { readonly kind: 'failed'; readonly line: string };

export const outcomeOf = (report: ReloadReport): ReloadOutcome =>
  report.status === 'applied'
    ? { kind: 'applied', summary: summaryOf(report) }
    : { kind: 'unchanged' };

/** @param error the rejection of the reload */
export const failedOutcome = (error: unknown): ReloadOutcome => ({
  kind: 'failed',
  line: reloadFailureLine(error instanceof Error ? error : new Error(messageOf(error))),
});

/** The state of a running process in one line: what it serves, and the outcome of its last reload. */
export function statusOf(inbounds: number, last?: ReloadOutcome): string {
  const serving = `serving ${inbounds} ${inbounds === 1 ? 'inbound' : 'inbounds'}`;
  return last ? `${serving}; last reload: ${outcomeLine(last)}` : serving;
}

/** The outcome of a reload in one line. */
export function outcomeLine(outcome: ReloadOutcome): string {
  switch (outcome.kind) {
    case 'applied':
      return `applied, ${outcome.summary}`;
    case 'unchanged':
      return 'the files have not changed';
    case 'failed':
      return outcome.line;
    default:
      return outcome satisfies never;
  }
}
