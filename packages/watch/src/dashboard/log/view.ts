import type { LogLevel } from '@weir/base/log/logger';

/* Views for the page Log. Texts are as Weir has written them: the page escapes them. */

/** The state of following the log. Times are Unix milliseconds. */
export type LogStateView =
  /** There is no control socket. */
  | { readonly kind: 'absent' }
  /** Requested, or about to be. */
  | { readonly kind: 'idle' | 'connecting' }
  | { readonly kind: 'following'; readonly since: number }
  /** The connection was lost and is retried. */
  | { readonly kind: 'lost'; readonly error: string; readonly since: number };

/** The parameters of the topic `log`. */
export type LogParameters = {
  readonly level?: LogLevel;
  /** Prefix of the targets. */
  readonly target?: string;
  readonly text?: string;
  /** The index of the first row; without one, the last rows. */
  readonly first?: number;
  /** Id of the last entry to include: newer ones are left out, so that the list does not move while it is read. */
  readonly until?: number;
};

/** The value of the topic `log`. */
export type LogView = {
  readonly state: LogStateView;
  /** The filter of the running Weir, which all its log lines have passed; `null` if it is not known. */
  readonly filter: string | null;
  /** The control socket, through which the filter can be changed; `null` without one. */
  readonly socket: string | null;
  readonly readOnly: boolean;
  /** The index of the first row among those that the parameters select, and the total number of them. */
  readonly first: number;
  readonly total: number;
  readonly rows: readonly LogRow[];
  /** Number of lines lost since following began, as far as it is known. */
  readonly lost: number;
  /** Number of stored entries, of any level. */
  readonly kept: number;
  /** The id of the newest entry. */
  readonly newest: number;
  /** Number of selected entries after `until`. */
  readonly later: number;
};

export type LogRow =
  | {
      readonly id: number;
      readonly kind: 'line';
      readonly at: number;
      readonly level: LogLevel;
      readonly target: string;
      readonly message: string;
      readonly fields: readonly (readonly [name: string, value: string])[];
    }
  /** A gap of lost lines; `null` if their number is unknown. */
  | {
      readonly id: number;
      readonly kind: 'lost';
      readonly at: number;
      readonly lost: number | null;
    };

/** The result of `log-filter-preview`. */
export type LogFilterPreview = {
  readonly filter: string;
  /** The equivalent command line. */
  readonly command: string;
};
