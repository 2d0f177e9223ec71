import { printable } from '../../printable.ts';

/** Shown for null and empty cells. */
const NOTHING = '-';

export type Cell = string | number | null | undefined;

const cellText = (cell: Cell): string =>
  cell === null || cell === undefined || cell === '' ? NOTHING : printable(String(cell));

/** A table as text. Columns are as wide as their longest cell; numbers are right-aligned. */
export function textTable(heads: readonly string[], rows: readonly (readonly Cell[])[]): string {
  const texts = rows.map((row) => row.map(cellText));
  const widths = heads.map((head, column) =>
    Math.max(head.length, ...texts.map((row) => row[column]?.length ?? 0)),
  );
  const right = heads.map((_, column) => rows.every((row) => typeof row[column] === 'number'));
  const line = (cells: readonly string[]): string =>
    cells
      .map((text, column) => {
        const width = widths[column] ?? 0;
        return rows.length > 0 && right[column] === true
          ? text.padStart(width)
          : text.padEnd(width);
      })
      .join('  ')
      .trimEnd();
  return [line(heads), ...texts.map(line)].map((text) => `${text}\n`).join('');
}

const UNITS = ['B', 'kB', 'MB', 'GB', 'TB', 'PB'];

/** A number of bytes, formatted: `1.5 MB`. */
export function bytes(count: number): string {
  let value = count;
  let unit = 0;
  while (value >= 999.5 && unit < UNITS.length - 1) {
    value /= 1000;
    unit++;
  }
  const digits = unit === 0 || value >= 99.5 ? 0 : 1;
  return `${value.toFixed(digits)} ${UNITS[unit]}`;
}

/** A duration, formatted: `12s`, `3m 5s`, `2h 10m`, `4d 3h`. */
export function age(milliseconds: number): string {
  const seconds = Math.max(0, Math.floor(milliseconds / 1000));
  const parts = [
    { size: 86_400, name: 'd' },
    { size: 3_600, name: 'h' },
    { size: 60, name: 'm' },
    { size: 1, name: 's' },
  ];
  const first = parts.findIndex(({ size }) => seconds >= size);
  if (first < 0) return '0s';
  let left = seconds;
  return parts
    .slice(first, first + 2)
    .map(({ size, name }) => {
      const count = Math.floor(left / size);
      left %= size;
      return count === 0 && name !== 's' ? '' : `${count}${name}`;
    })
    .filter((text, index) => text !== '' && !(index > 0 && text === '0s'))
    .join(' ');
}
