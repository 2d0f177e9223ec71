/** A member of a balancer before a change, with those that are new next to it. */
export interface PlannedMember {
  readonly name: string;
  readonly isKept: boolean;
  /** New members directly before and after it. */
  readonly before: readonly string[];
  readonly after: readonly string[];
}

/** The members of a balancer after a change. */
export interface MemberPlan {
  /** All members from before, in their order. */
  readonly members: readonly PlannedMember[];
  /** New members at the end. */
  readonly last: readonly string[];
  readonly added: readonly string[];
  readonly removed: readonly string[];
}

/**
 * Replaces the members that follow a list. Those that stay keep their order, in which a failover prefers them; a new
 * one comes after the one that it follows in the list. Takes linear time.
 *
 * @param wanted the members by the list, in its order; distinct
 * @param isOwn whether a member is none of the list's, and stays
 */
export function planMembers(
  current: readonly string[],
  wanted: readonly string[],
  isOwn: (name: string) => boolean,
): MemberPlan {
  const present = new Set(current);
  const listed = new Set(wanted);
  const added = wanted.filter((name) => !present.has(name));
  const followers = new Map<string | undefined, string[]>();
  let last: string | undefined;
  for (const name of wanted) {
    if (present.has(name)) last = name;
    else append(followers, last, name);
  }
  const firsts = followers.get(undefined) ?? [];
  const at = current.findIndex((name) => !isOwn(name));
  const members = current.map((name, index): PlannedMember => {
    const after = followers.get(name) ?? [];
    followers.delete(name);
    return {
      name,
      isKept: isOwn(name) || listed.has(name),
      before: index === at ? firsts : [],
      after,
    };
  });
  return {
    members,
    last: at < 0 ? firsts : [],
    added,
    removed: members.filter(({ isKept }) => !isKept).map(({ name }) => name),
  };
}

function append<K>(lists: Map<K, string[]>, key: K, item: string): void {
  const list = lists.get(key);
  if (list) list.push(item);
  else lists.set(key, [item]);
}
