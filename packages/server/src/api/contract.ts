import type { RouteView } from '@weir/config/route-view';
import { WeirError, type WeirErrorOptions } from '@weir/base';
import type { Clock } from '@weir/io/time';
import type { ReloadReport } from '../supervisor/reload-report.ts';
import type { Tracker } from '@weir/proxy/tracker';

export type { RouteGroupView, RouteTargetView, RouteView } from '@weir/config/route-view';
export type { Inherit as RouteInherit } from '@weir/config/documents';

/** A client's condition on the configuration file that it edits. */
export type IfMatch =
  | { readonly kind: 'any' }
  /** `etag` includes its quotes and is compared by equality. */
  | { readonly kind: 'is'; readonly etag: string };

export const ANY_FILE: IfMatch = { kind: 'any' };

/** The interface of the process that the API controls. */
export interface ControlledApp {
  /** Version of the program. */
  readonly version: string;
  readonly tracker: Tracker;
  readonly clock: Clock;
  /**
   * Reads the routes from the current files.
   * @throws {ControlError} `invalid` or `failed`.
   */
  routes(): Promise<RoutesResult>;
  /**
   * Writes the pick of a group, or of `default`, into the configuration file and reloads. Edits are
   * serialised. `signal` aborts when the client has disconnected: an edit that has not begun to
   * write is cancelled, one that has is completed.
   * @throws {ControlError} with the `etag` of the file if the client needs it to continue.
   */
  pick(group: string, target: string, ifMatch: IfMatch, signal: AbortSignal): Promise<PickResult>;
  /**
   * Reads the files again and applies the changes.
   * @throws {ControlError} `invalid` or `failed`.
   */
  reload(): Promise<ReloadReport>;
}

export interface RoutesResult {
  readonly view: RouteView;
  /** Entity tag of the configuration file; quotes included. */
  readonly etag: string;
}

export interface PickResult {
  readonly report: ReloadReport;
  /** Entity tag of the current file; quotes included. */
  readonly etag: string;
}

/**
 * - `unknown_group`: no route group has that name
 * - `invalid`: the change would make the configuration invalid, or the configuration on disk cannot
 *   be applied
 * - `stale`: the file has changed since the client read it
 * - `failed`: a file cannot be read or written, a listener cannot be bound, the runtime has stopped
 */
export type ControlErrorCode = 'unknown_group' | 'invalid' | 'stale' | 'failed';

export interface ControlErrorOptions extends WeirErrorOptions {
  readonly etag?: string | undefined;
}

/** A request to the process that failed. */
export class ControlError extends WeirError {
  /** The kind of the failure. */
  declare readonly code: ControlErrorCode;
  /** Entity tag of the configuration file, if it should be sent to the client; quotes included. */
  readonly etag: string | undefined;

  constructor(code: ControlErrorCode, message: string, options: ControlErrorOptions = {}) {
    super(code, message, options);
    this.etag = options.etag;
  }

  /** A copy of this error with the entity tag of the current file. */
  withEtag(etag: string): ControlError {
    const { cause, hint } = this;
    return new ControlError(this.code, this.message, { cause, hint, etag });
  }
}

export const unknownGroup = (name: string): ControlError =>
  new ControlError('unknown_group', `no route group named ${JSON.stringify(name)}`);

export const unknownTarget = (name: string): ControlError =>
  new ControlError(
    'invalid',
    `no node, outbound or balancer is named ${JSON.stringify(name)}; the route view lists them`,
  );

/** @param etag entity tag of the current file, quotes included */
export const stale = (etag: string): ControlError =>
  new ControlError(
    'stale',
    `the config file has changed since it was read; its ETag is now ${etag}`,
    { etag },
  );
