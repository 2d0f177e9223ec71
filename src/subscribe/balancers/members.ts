/** A previous member of a balancer, with the new members next to it. */
export interface PlannedMember {
  readonly name: string;
  readonly isKept: boolean;
  /** New members directly before it, and in `after` those directly after it. */
  readonly before: readonly string[];
  readonly after: readonly string[];
}

/** The planned members of a balancer. */
export interface MemberPlan {
  /** All previous members, in their order. */
  readonly members: readonly PlannedMember[];
  /** New members at the end. */
  readonly last: readonly string[];
  readonly added: readonly string[];
  readonly removed: readonly string[];
}

/**
 * Replaces those members of a balancer that follow a list. Kept members keep their order, which is a failover's order
 * of preference; a new member is inserted after its predecessor in the list. Takes linear time.
 *
 * @param wanted the members according to the list, in its order; distinct
 * @param isOwn whether a member is independent of the list, and is kept
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
