/** Servers in documents of other programs. */
export { type Imported, LARGEST_DOCUMENT, readForeign } from './import/document.ts';
export { type ImportReport, reportLines } from './import/report.ts';
export { NothingImported, toConfig } from './import/write/config.ts';
export { toNodes, toPair, toSubscribe } from './import/write/subscribe.ts';
