import { ImportError } from '@weir/proxy/protocols/forms';
import type { ForeignGroup, Target } from './routing.ts';

/** Why flows to names may be routed differently than by a program that resolves them first. */
export const NOT_RESOLVED =
  'names are not resolved to match rules: `cidr` and `geoip` match addresses alone';

/** The treatment of queries that another program answers itself. */
export const NOT_ANSWERED =
  'Weir answers queries to the addresses of a TUN device alone; others go where other flows go';

/** Maximum numbers of each kind of part in a document. */
const BOUNDS = {
  servers: 50_000,
  groups: 10_000,
  rules: 300_000,
  inbounds: 1000,
} as const;

/** Maximum number of members of all groups of a document together. */
const MOST_MEMBERS = 500_000;

/** The groups of a document have too many members. */
export class TooManyMembersError extends ImportError {}

/**
 * The remaining number of members for the groups of a document: a group may include whole lists by a single key, and
 * the work must stay linear in the size of the document.
 */
export class MemberBudget {
  #left = MOST_MEMBERS;

  /** Deducts members. @throws {TooManyMembersError} if none are left */
  spend(members: number): void {
    this.#left -= members;
    if (this.#left >= 0) return;
    throw new TooManyMembersError(`the document's groups have more than ${MOST_MEMBERS} members`);
  }
}

/**
 * Reads a group; an ImportError becomes the reason for leaving it out.
 * @throws {TooManyMembersError}
 */
export function groupOrReason(name: string, read: () => ForeignGroup): ForeignGroup {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof ImportError) || error instanceof TooManyMembersError) throw error;
    return { name, strategy: 'select', members: [], notes: [], skipped: error.message };
  }
}

/** Checks the length of a list. @throws {ImportError} for a list that is longer than in any real document */
export function bounded<T>(what: keyof typeof BOUNDS, list: readonly T[]): readonly T[] {
  if (list.length <= BOUNDS[what]) return list;
  throw new ImportError(`the document has more than ${BOUNDS[what]} ${what}`);
}

/** Resolves the names of a document to targets. */
export class TargetNames {
  readonly #targets = new Map<string, Target>();

  /** The first of several names counts. Servers take precedence over groups, and both over built-in outbounds. */
  constructor(names: {
    /** Names of `entries`, in order. */
    readonly entries: readonly string[];
    /** Names of `groups`, in order. */
    readonly groups: readonly string[];
    readonly builtIn?: ReadonlyMap<string, Target> | undefined;
  }) {
    this.#add(names.entries, 'entry');
    this.#add(names.groups, 'group');
    for (const [name, target] of names.builtIn ?? []) {
      if (!this.#targets.has(name)) this.#targets.set(name, target);
    }
  }

  of(name: string): Target {
    return this.#targets.get(name) ?? { kind: 'missing', name };
  }

  #add(names: readonly string[], kind: 'entry' | 'group'): void {
    for (const [index, name] of names.entries()) {
      if (name !== '' && !this.#targets.has(name)) this.#targets.set(name, { kind, index });
    }
  }
}
