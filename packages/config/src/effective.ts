/** What is in force. */
export { loadEffective } from './effective/load-effective.ts';
export {
  shownString,
  type ShownTable,
  type ShownValue,
  STARS,
  shownJson,
  shownToml,
} from './effective/shown-value.ts';
export { shownLines } from './sources/shown-lines.ts';
