/** Tables of text for terminals. */
export { type Cell, columnsOf, segmentsOf, textTable } from './text/text-table.ts';
