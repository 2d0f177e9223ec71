import { userInfo } from 'node:os';
import { printable } from '../printable.ts';

/** Maximum bytes of a name; more than any system allows. */
const MAX_NAME = 64;

/** The user of this process for a log: `root (uid 0)`, or `root (uid 0) for ann` under sudo. */
export function editedBy(env: Readonly<Record<string, string | undefined>>): string {
  const uid = process.getuid?.() ?? -1;
  const sudo = uid === 0 ? env['SUDO_USER'] : undefined;
  const behind = sudo === undefined || sudo === '' ? '' : ` for ${shortened(sudo)}`;
  return `${nameOf(uid)}${behind}`;
}

function nameOf(uid: number): string {
  try {
    return `${shortened(userInfo().username)} (uid ${uid})`;
  } catch {
    return `uid ${uid}`; // the user has no entry in the user database
  }
}

const shortened = (name: string): string => printable(name).slice(0, MAX_NAME);
