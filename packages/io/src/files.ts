/** Files that cannot block, and their access lists. */
export { type AccessList, readAccessList, writeAccessList } from './platform/access-list.ts';
export {
  kindOfOther,
  openRegularFile,
  openRegularFileSync,
  openRegularFileToWrite,
  READ_WITHOUT_WAITING,
} from './platform/regular-file.ts';
