/** The files of a configuration, and their tables. */
export { balancerTags, type ConfigFile, type Inherit } from './sources/config-file.ts';
export { jsonOf } from './sources/object-document.ts';
export type { Picks } from './picks.ts';
export { SourceText } from './sources/source-text.ts';
export { decodeSource, documentError } from './sources/decode-source.ts';
export {
  type ConfigSource,
  LOCAL_LISTENERS,
  readDocuments,
  withShownKeys,
} from './sources/documents.ts';
export { type ForeignFormat, foreignFormatHint } from './sources/foreign-format.ts';
export { type FileReader, FileReadError } from './sources/input-files.ts';
export { readApiTable, readConfigFile } from './sources/read-tables.ts';
