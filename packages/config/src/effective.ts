/** What is in force. */
export { loadEffective } from './effective/load-effective.ts';
export { shownString, type ShownTable, type ShownValue, STARS } from './effective/shown-value.ts';
export { shownJson, shownToml } from './effective/write-shown.ts';
export { shownLines } from './sources/shown-lines.ts';
