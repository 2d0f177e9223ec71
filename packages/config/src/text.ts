/** TOML as text. */
export { type Gap, gapIn, type GapLine, isEmptyLine, labelComment } from './edit/lists/gap.ts';
export {
  basicString,
  breakBefore,
  dottedKey,
  eolNear,
  indentAt,
  isBlankLine,
  keyText,
  lineBreak,
  lineStart,
  nextLine,
  terminalSafe,
} from './edit/toml-text.ts';
