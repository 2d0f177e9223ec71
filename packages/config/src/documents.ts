/** The files of a configuration, and their tables. */
export { balancerTags, type ConfigFile } from './sources/config-file.ts';
export { decodeSource } from './sources/decode-source.ts';
export { documentError } from './sources/document-error.ts';
export { readDocuments } from './sources/documents.ts';
export { type ForeignFormat, foreignFormatHint } from './sources/foreign-format.ts';
export { type FileReader, FileReadError } from './sources/input-files.ts';
export { readApiTable, readConfigFile } from './sources/read-tables.ts';
export { SourceText } from './sources/source-text.ts';
export type { Inherit } from './sources/subscribe-file.ts';
export { withShownKeys } from './sources/with-shown-keys.ts';
