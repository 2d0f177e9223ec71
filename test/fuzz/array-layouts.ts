import type { Choices } from './choices.ts';

/** What the layout of an array needs from the document around it. */
export interface ArrayParts {
  readonly choices: Choices;
  /** A line break. */
  readonly eol: () => string;
  /** A comment from its `#` on, with contents that no other has. */
  readonly comment: () => string;
  /** An element. */
  readonly table: () => string;
}

/** An array of up to four tables in any layout that TOML allows. */
export function arrayText(parts: ArrayParts): string {
  const { choices, table } = parts;
  const tables = Array.from({ length: choices.below(5) }, table);
  const hasLast = choices.from([true, false]) && tables.length > 0;
  const style = choices.from(['one line', 'lines', 'leading', 'mixed', 'mixed']);
  switch (style) {
    case 'one line':
      return oneLine(parts, tables, hasLast);
    case 'lines':
      return ownLines(parts, tables, hasLast);
    case 'leading':
      return leadingCommas(parts, tables);
    case 'mixed':
      return mixed(parts, tables, hasLast);
    default:
      return style satisfies never;
  }
}

function oneLine({ choices }: ArrayParts, tables: readonly string[], hasLast: boolean): string {
  const [pad, comma] = [choices.from(['', ' ']), choices.from([', ', ',', ' , '])];
  return `[${pad}${tables.join(comma)}${hasLast ? comma.trimEnd() : ''}${pad}]`;
}

/** A line for each element, with its comma at the end of that. */
function ownLines(parts: ArrayParts, tables: readonly string[], hasLast: boolean): string {
  const { choices, eol } = parts;
  const indent = choices.from(['  ', '\t', '']);
  let text = `[${tail(parts)}`;
  for (const [at, table] of tables.entries()) {
    const isLast = at + 1 === tables.length;
    const apart = choices.oneIn(6) ? choices.from([' ', `${tail(parts)}${eol()}${indent}`]) : '';
    const comma = isLast && !hasLast ? '' : `${apart},`;
    text += eol() + block(parts, indent) + indent + table + comma + tail(parts);
  }
  text += eol() + block(parts, indent);
  return `${choices.oneIn(5) ? withoutBreak(text) : text}]`;
}

/** A line for each element, with a comma at its start. */
function leadingCommas(parts: ArrayParts, tables: readonly string[]): string {
  const { choices, eol } = parts;
  const indent = choices.from(['', '  ', '      ']);
  const [comma, alone] = [choices.from([', ', ',', ',\t']), choices.from(['', indent])];
  const isHugged = choices.from([true, false]);
  let text = `[${isHugged ? ' ' : tail(parts) + eol() + block(parts, indent) + alone}`;
  for (const [at, table] of tables.entries()) {
    const apart = choices.oneIn(6) ? `${tail(parts)}${eol()}${block(parts, indent)}` : '';
    text += (at === 0 ? '' : block(parts, indent) + indent + comma + apart) + table;
    text += at + 1 === tables.length && choices.oneIn(3) ? '' : tail(parts) + eol();
  }
  return `${text}${text.endsWith('\n') ? block(parts, indent) : ''}]`;
}

/** Anything between the elements. */
function mixed(parts: ArrayParts, tables: readonly string[], hasLast: boolean): string {
  const { choices } = parts;
  let text = `[${gap(parts)}`;
  for (const [at, table] of tables.entries()) {
    const isLast = at + 1 === tables.length;
    text += table + gap(parts) + (isLast && !hasLast ? '' : `,${gap(parts)}`);
  }
  return `${choices.oneIn(3) ? withoutBreak(text) : text}]`;
}

/** Without white space at the end, if no comment needs a line break. */
function withoutBreak(text: string): string {
  const trimmed = text.trimEnd();
  return trimmed.slice(trimmed.lastIndexOf('\n') + 1).includes('#') ? text : trimmed;
}

/** What may stand at the end of a line. */
function tail({ choices, comment }: ArrayParts): string {
  const form = choices.from(['', '', ' ', ' #', '\t#']);
  return form.replace('#', comment);
}

/** Lines between two elements. */
function block({ choices, eol, comment }: ArrayParts, indent: string): string {
  let text = '';
  for (let lines = Math.max(0, choices.below(6) - 2); lines > 0; lines -= 1) {
    const form = choices.from([`${indent}#`, '#', '', ' \t', indent]);
    text += form.replace('#', comment) + eol();
  }
  return text;
}

function gap(parts: ArrayParts): string {
  const { choices, eol, comment } = parts;
  let text = '';
  for (let pieces = choices.below(5); pieces > 0; pieces -= 1) {
    const form = choices.from([' ', '\t', '\n', '\n', ' #\n']);
    text += form.replace('#', comment).replace('\n', eol);
  }
  return text;
}
