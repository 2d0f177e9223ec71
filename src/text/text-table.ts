import { printable } from '../printable.ts';
import { columnsOf } from './text-width.ts';

/** Shown for null and empty cells. */
const NOTHING = '-';

export type Cell = string | number | null | undefined;

const cellText = (cell: Cell): string =>
  cell === null || cell === undefined || cell === '' ? NOTHING : printable(String(cell));

/** Formats a table as text. Columns are as wide as their longest cell; numbers are right-aligned. */
export function textTable(heads: readonly string[], rows: readonly (readonly Cell[])[]): string {
  const texts = rows.map((row) => row.map(cellText));
  const widths = heads.map((head, column) =>
    // A spread of arguments would limit the number of rows.
    texts.reduce((most, row) => Math.max(most, columnsOf(row[column] ?? '')), columnsOf(head)),
  );
  const right = heads.map((_, column) => rows.every((row) => typeof row[column] === 'number'));
  const line = (cells: readonly string[]): string =>
    cells
      .map((text, column) => {
        const space = ' '.repeat((widths[column] ?? 0) - columnsOf(text));
        return rows.length > 0 && right[column] === true ? space + text : text + space;
      })
      .join('  ')
      .trimEnd();
  return [line(heads), ...texts.map(line)].map((text) => `${text}\n`).join('');
}
