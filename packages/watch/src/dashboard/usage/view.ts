/* The view for the page Usage. Names are as recorded: the page escapes them. */

/** How long the shown time is, up to now: 24 hours, 7 or 30 days, 12 months. */
export type UsageRange = 'day' | 'week' | 'month' | 'year';

type Amounts = {
  readonly up: number;
  readonly down: number;
  readonly flows: number;
};

/** A name with what it has used; `null` for usage of which the name was not kept, '' for flows without one. */
export type UsageRow = Amounts & {
  readonly id: string;
  readonly name: string | null;
};

/** What was used in one period. */
export type UsageBar = {
  /** When it begins, in Unix milliseconds. */
  readonly id: number;
  readonly up: number;
  readonly down: number;
};

/** The value of the topic `usage`. */
export type RecordedUsageView =
  /** The database cannot be read; `path` is `null` where none is known. */
  | { readonly kind: 'none'; readonly path: string | null; readonly problem: string }
  | {
      readonly kind: 'read';
      readonly path: string;
      /** In Unix milliseconds. */
      readonly since: number;
      readonly until: number;
      readonly total: Amounts;
      /** Those with the most bytes, and the number of further names. */
      readonly rows: readonly UsageRow[];
      readonly more: number;
      readonly unit: 'hours' | 'days' | 'months';
      /** Every period of the time, the oldest first. */
      readonly bars: readonly UsageBar[];
    };
