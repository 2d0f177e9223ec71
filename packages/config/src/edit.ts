/** Edits of a document in place. */
export { editText, encodedLike, inDocument } from './edit/edit-text.ts';
export { type Header, outlineOf } from './edit/outline.ts';
export { setString } from './edit/key-editor.ts';
export { splice } from './edit/toml-text.ts';
export {
  addUser,
  type EditedUsers,
  listUsers,
  removeUser,
  rotateUser,
  type WrittenUser,
} from './edit/users/edit-users.ts';
export { type LimitKeys, removeLimit, setLimit } from './edit/limits/edit-limits.ts';
