import type { ComponentChildren } from 'preact';

/** A column of a grid. */
export interface Column<Row> {
  /** Given to `onSort`. */
  readonly key: string;
  readonly title: string;
  /** A track of CSS grid: `6rem`, `minmax(8rem, 2fr)`. */
  readonly width: string;
  /** Numbers stand at the end. */
  readonly end?: boolean;
  /** Whether its heading is a button that sorts, and which order it begins with. */
  readonly sorts?: 'ascending' | 'descending';
  /**
   * Its place on a card, which has a first line, a second one, and what stands at their ends; columns without a place
   * are left out there.
   */
  readonly card?: 'title' | 'aside' | 'line' | 'line-end';
  /** Left out where there is no room for all columns, as on tablets. */
  readonly extra?: boolean;
  readonly cell: (row: Row) => ComponentChildren;
}
