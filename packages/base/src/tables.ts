import { printable } from './printable.ts';

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

/**
 * Begins of cells that spreadsheets take for formulas (OWASP, "CSV Injection"). A tab or an end of a line is escaped before
 * as every control character is.
 */
const FORMULA = /^[=+\-@\uff0b\uff0d\uff1d\uff20]/;

/**
 * Formats a table as comma-separated values (RFC 4180). A text that a spreadsheet would take for a formula has an apostrophe before
 * it; semicolons, which separate cells in some countries, are in quotes as well.
 */
export function csvTable(rows: readonly (readonly (string | number)[])[]): string {
  return rows.map((cells) => `${cells.map(csvCell).join(',')}\r\n`).join('');
}

function csvCell(cell: string | number): string {
  if (typeof cell === 'number') return String(cell);
  const text = printable(cell);
  const inert = FORMULA.test(text) ? `'${text}` : text;
  return inert !== text || /[",;]/.test(text) ? `"${inert.replaceAll('"', '""')}"` : text;
}

/** Ideographs, kana, Hangul, full-width forms, emoji and flags, which terminals draw two columns wide. */
const WIDE =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Emoji_Presentation}\p{Regional_Indicator}\u3000-\u303e\uff01-\uff60\uffe0-\uffe6]|\ufe0f/u;

/** Created once: creating a segmenter takes longer than measuring a name. */
const SEGMENTER = new Intl.Segmenter();

/** Returns the grapheme clusters of a text. */
export const segmentsOf = (text: string): Iterable<Intl.SegmentData> => SEGMENTER.segment(text);

/** Returns the columns that a text takes on a terminal: two for a wide character, one for any other. */
export function columnsOf(text: string): number {
  // Most tables are ASCII.
  if (/^[ -~]*$/.test(text)) return text.length;
  let columns = 0;
  for (const { segment } of segmentsOf(text)) columns += WIDE.test(segment) ? 2 : 1;
  return columns;
}
