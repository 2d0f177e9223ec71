import { readFileSync, realpathSync, statSync, type Stats } from 'node:fs';
import { dirname, join } from 'node:path';

const READABLE_BY_GROUP = 0o040;
const READABLE_BY_OTHERS = 0o004;

/**
 * Whether a user may read a file because it belongs to one of the user's groups, as a service reads a configuration of
 * root. Access control lists, and users that only a directory service knows, are not considered.
 *
 * @param accounts the folder of `passwd` and `group`; for tests
 * @returns `false` for a file that all users may read, and if anything is unknown
 */
export function mayReadByGroup(path: string, uid: number, accounts = '/etc'): boolean {
  try {
    const real = realpathSync(path);
    const groups = groupsOf(uid, accounts);
    const { mode, gid } = statSync(real);
    const isForGroup = (mode & READABLE_BY_GROUP) !== 0 && (mode & READABLE_BY_OTHERS) === 0;
    return isForGroup && groups.has(gid) && mayReach(dirname(real), uid, groups);
  } catch {
    return false;
  }
}

function mayReach(folder: string, uid: number, groups: ReadonlySet<number>): boolean {
  if (!mayEnter(statSync(folder), uid, groups)) return false;
  const above = dirname(folder);
  return above === folder || mayReach(above, uid, groups);
}

function mayEnter({ mode, uid: owner, gid }: Stats, uid: number, groups: ReadonlySet<number>) {
  if (uid === owner) return (mode & 0o100) !== 0;
  return (mode & (groups.has(gid) ? 0o010 : 0o001)) !== 0;
}

/** Returns the groups of a user: passwd(5), group(5). */
function groupsOf(uid: number, accounts: string): ReadonlySet<number> {
  const groups = new Set<number>();
  const names = new Set<string>();
  for (const [name = '', , id, group] of entriesOf(join(accounts, 'passwd'))) {
    if (id !== String(uid)) continue;
    names.add(name);
    groups.add(Number(group));
  }
  for (const [, , id, members = ''] of entriesOf(join(accounts, 'group'))) {
    if (members.split(',').some((name) => names.has(name))) groups.add(Number(id));
  }
  return groups;
}

const entriesOf = (path: string): readonly (readonly string[])[] =>
  readFileSync(path, 'utf8')
    .split('\n')
    .map((line) => line.split(':'));
