import { printable } from '@weir/base/printable';
import { columnsOf, segmentsOf } from '@weir/base/tables';

/** The style of a part of a line. No meaning is expressed by style alone. */
export type Style = 'plain' | 'bold' | 'dim' | 'good' | 'warn' | 'bad' | 'selected';

/** Select Graphic Rendition, ECMA-48 section 8.3.117. */
const CODES: Readonly<Record<Style, string>> = {
  plain: '',
  bold: '1',
  dim: '2',
  good: '32',
  warn: '33',
  bad: '31;1',
  selected: '7',
};

/** Styles without colour, for NO_COLOR. */
const COLOURLESS: ReadonlySet<Style> = new Set(['bold', 'dim', 'selected']);

export interface StyledText {
  readonly text: string;
  readonly style: Style;
}

/** A line of the screen; its texts are already escaped. */
export type Line = readonly StyledText[];

/** A span of trusted text. */
export const span = (text: string, style: Style = 'plain'): StyledText => ({ text, style });

/** A span of untrusted text, which is escaped. */
export const foreign = (text: string, style: Style = 'plain'): StyledText =>
  span(printable(text), style);

/** The start of a text that fits into this many columns; a truncated text ends with `…`. */
export function cut(text: string, columns: number): string {
  // A longer text is measured only as far as it is shown.
  if (text.length <= columns && columnsOf(text) <= columns) return text;
  if (columns <= 0) return '';
  let used = 0;
  /** Code units that fit beside the `…`. */
  let kept = 0;
  for (const { segment, index } of segmentsOf(text)) {
    used += columnsOf(segment);
    if (used > columns) return `${text.slice(0, kept)}…`;
    if (used < columns) kept = index + segment.length;
  }
  return text;
}

/** The end of a text that fits into this many columns; a truncated text begins with `…`. */
export function cutStart(text: string, columns: number): string {
  if (columnsOf(text) <= columns) return text;
  let left = columns - 1;
  let shown = '';
  for (const { segment } of [...segmentsOf(text)].toReversed()) {
    left -= columnsOf(segment);
    if (left < 0) break;
    shown = segment + shown;
  }
  return columns > 0 ? `…${shown}` : '';
}

/** Wraps a text to lines of at most this many columns, after spaces where possible. */
export function wrapped(text: string, columns: number): readonly string[] {
  const lines: string[] = [];
  let line = '';
  let left = columns;
  const add = (part: string, width: number): void => {
    line += part;
    left -= width;
  };
  const end = (): void => {
    lines.push(line.trimEnd());
    line = '';
    left = columns;
  };
  for (const word of text.split(/(?<= )/)) {
    const width = columnsOf(word.trimEnd());
    if (width > left && line !== '') end();
    if (width <= left) {
      add(word, columnsOf(word));
      continue;
    }
    for (const { segment } of segmentsOf(word)) {
      const each = columnsOf(segment);
      if (each > left && line !== '') end();
      add(segment, each);
    }
  }
  end();
  return lines;
}

/** Truncates a text, or pads it with spaces, to this many columns. */
export function fitted(text: string, columns: number, end: 'left' | 'right' = 'left'): string {
  const shown = cut(text, columns);
  const space = ' '.repeat(Math.max(0, columns - columnsOf(shown)));
  return end === 'left' ? shown + space : space + shown;
}

/** The styles that a terminal supports: all of them, those without colour, or none. */
export type ShownStyles = 'all' | 'colourless' | 'none';

/** The number of columns of an untruncated line. */
export const lineColumns = (line: Line): number =>
  line.reduce((sum, { text }) => sum + columnsOf(text), 0);

/** Formats a line for a terminal of this width. */
export function lineText(line: Line, columns: number, styles: ShownStyles): string {
  let left = columns;
  let text = '';
  for (const { text: part, style } of line) {
    if (left <= 0) break;
    const shown = cut(part, left);
    left -= columnsOf(shown);
    const isShown = styles === 'all' || (styles === 'colourless' && COLOURLESS.has(style));
    const code = isShown ? CODES[style] : '';
    text += code === '' || shown === '' ? shown : `\x1b[${code}m${shown}\x1b[0m`;
  }
  return text;
}
