import {
  systemFiles,
  type NewFile,
  type ReplaceFileSystem,
} from '../../../packages/server/src/app/replace-file.ts';

/** In the order in which a replacement without failures takes them. */
export const STEPS = [
  'realpath',
  'attributesOf',
  'create',
  'write',
  'chown',
  'setAccessList',
  'chmod',
  'sync',
  'close',
  'rename',
  'syncFolder',
] as const;

export type Step = (typeof STEPS)[number] | 'unlink';

/** The real file system, with a look at each step before it is taken: what throws there fails it. */
export function watchedFiles(before: (step: Step, file?: NewFile) => unknown): ReplaceFileSystem {
  const real = systemFiles;
  return {
    realpath: async (path) => {
      await before('realpath');
      return real.realpath(path);
    },
    attributesOf: async (path) => {
      await before('attributesOf');
      return real.attributesOf(path);
    },
    create: async (path) => {
      await before('create');
      const file = await real.create(path);
      return {
        write: async (bytes) => {
          await before('write', file);
          await file.write(bytes);
        },
        chown: async (uid, gid) => {
          await before('chown');
          await file.chown(uid, gid);
        },
        setAccessList: async (list) => {
          await before('setAccessList');
          await file.setAccessList(list);
        },
        chmod: async (mode) => {
          await before('chmod');
          await file.chmod(mode);
        },
        sync: async () => {
          await before('sync');
          await file.sync();
        },
        close: async () => {
          // A descriptor is gone even when closing it fails (POSIX close).
          await file.close();
          await before('close');
        },
      };
    },
    rename: async (from, to) => {
      await before('rename');
      await real.rename(from, to);
    },
    unlink: async (path) => {
      await before('unlink');
      await real.unlink(path);
    },
    syncFolder: async (path) => {
      await before('syncFolder');
      await real.syncFolder(path);
    },
  };
}
