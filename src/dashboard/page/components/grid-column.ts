import type { ComponentChildren } from 'preact';

/** A column of a grid. */
export interface Column<Row> {
  /** The column's sort key, passed to `onSort`. */
  readonly key: string;
  readonly title: string;
  /** A track of CSS grid: `6rem`, `minmax(8rem, 2fr)`. */
  readonly width: string;
  /** Whether cells are aligned at the end, as numbers are. */
  readonly end?: boolean;
  /** The initial order of a column that can be sorted; its heading is then a button. */
  readonly sorts?: 'ascending' | 'descending';
  /**
   * The position on a card, which has a first line, a second line, and an end of each; cards leave out columns without
   * one.
   */
  readonly card?: 'title' | 'aside' | 'line' | 'line-end';
  /** Whether the column is left out where there is no room for all, as on tablets. */
  readonly extra?: boolean;
  readonly cell: (row: Row) => ComponentChildren;
}
