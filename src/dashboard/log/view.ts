import type { LogLevel } from '../../log/logger.ts';

/* What the page Log gets. Texts are as Weir has written them: the page escapes them. */

/** Whether the log is followed. Times are Unix milliseconds. */
export type LogStateView =
  /** Without a control socket. */
  | { readonly kind: 'absent' }
  /** Requested, or not yet. */
  | { readonly kind: 'idle' | 'connecting' }
  | { readonly kind: 'following'; readonly since: number }
  /** It is tried again. */
  | { readonly kind: 'lost'; readonly error: string; readonly since: number };

/** The parameters of the topic `log`. */
export type LogParameters = {
  readonly level?: LogLevel;
  /** The start of targets. */
  readonly target?: string;
  readonly text?: string;
  /** The index of the first row; without one, the last rows. */
  readonly first?: number;
  /** Entries after the one with this id are left out, and none moves while the page is read. */
  readonly until?: number;
};

/** The topic `log`. */
export type LogView = {
  readonly state: LogStateView;
  /** The filter of the running Weir, which has every line pass; `null` if it is not known. */
  readonly filter: string | null;
  /** Where the filter can be changed; `null` without a control socket. */
  readonly socket: string | null;
  readonly readOnly: boolean;
  /** The index of the first row among those that the parameters select, and how many these are. */
  readonly first: number;
  readonly total: number;
  readonly rows: readonly LogRow[];
  /** Lines that were lost since the log is followed, as far as their number is known. */
  readonly lost: number;
  /** Entries that are kept, of any level. */
  readonly kept: number;
  /** The id of the newest entry. */
  readonly newest: number;
  /** Selected entries that `until` leaves out. */
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
  /** Lines are missing here; `null` if their number is unknown. */
  | {
      readonly id: number;
      readonly kind: 'lost';
      readonly at: number;
      readonly lost: number | null;
    };

/** The result of `log-filter-preview`. */
export type LogFilterPreview = {
  readonly filter: string;
  /** The same as a command line. */
  readonly command: string;
};
