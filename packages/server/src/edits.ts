/** Checks and edits of a configuration, one at a time. */
export { checkConfig } from './app/configuration.ts';
export { editConfigFile, type EditedFile, EditError, readConfigFile } from './app/edit-config.ts';
export { LockFile } from './app/lock-file.ts';
export { Mutex } from './app/mutex.ts';
