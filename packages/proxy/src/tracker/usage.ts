import { sourceGroup } from '@weir/io/bounds';

/** The properties of flows by which usage is counted. */
export const USAGE_DIMENSIONS = ['user', 'inbound', 'outbound', 'source', 'host'] as const;
export type UsageDimension = (typeof USAGE_DIMENSIONS)[number];

/** Bytes and flows since the start. */
export interface UsageCounts {
  /** Payload bytes to destinations. */
  readonly up: number;
  /** Payload bytes to clients. */
  readonly down: number;
  /** Flows that were opened. */
  readonly flows: number;
}

/** The counts of one name of a dimension. */
export interface UsageEntry extends UsageCounts {
  /** Unique among all entries of the process's life; never 0. */
  readonly id: number;
  /**
   * Name of the account, tag, source or host; empty for flows without one, and `undefined` if an earlier report has named
   * the entry. A source is an IPv4 address, or the first 64 bits of an IPv6 address.
   */
  readonly name: string | undefined;
}

/** Entries in a dimension; those beyond are counted together, see `UsageReport.other`. */
const MOST_ENTRIES = 8192;
/** Entries examined to find one without open flows; above that the new name is counted with the others. */
const MOST_EXAMINED = 16;
/** Removed entries of all dimensions that are kept for readers. */
const MOST_REMOVED = 8192;

/** Sums of what entries count; the open flows of an entry are included up to the last `settle`. */
class Counts {
  up = 0;
  down = 0;
  flows = 0;
}

class Entry extends Counts implements UsageEntry {
  readonly id: number;
  readonly key: string;
  readonly name: string;
  /** The turn of a reader in which the entry was created. */
  readonly created: number;
  /** The turn of a reader in which the counts changed last. */
  changed = 0;
  /** Number of open flows. */
  open = 0;
  /** Whether another flow has been opened since the entry was created or last examined for its removal. */
  used = false;

  constructor(id: number, key: string, name: string, created: number) {
    super();
    this.id = id;
    this.key = key;
    this.name = name;
    this.created = created;
  }
}

/** What the tables of all dimensions share. */
interface TableOwner {
  nextId(): number;
  /** The turn of a reader. */
  turn(): number;
  /** Called with an entry that has given way to another. */
  removed(entry: Entry, by: UsageDimension): void;
}

/** The entries of one dimension, which give way by the clock algorithm. */
class UsageTable {
  readonly by: UsageDimension;
  readonly entries: Entry[] = [];
  /** Counts of removed entries, and of flows for which there was no space. */
  readonly other = new Entry(0, '', '', 0);
  readonly #byKey = new Map<string, Entry>();
  readonly #most: number;
  readonly #owner: TableOwner;
  /** Index of the entry that is examined next for its removal. */
  #hand = 0;

  constructor(by: UsageDimension, most: number, owner: TableOwner) {
    this.by = by;
    this.#most = most;
    this.#owner = owner;
  }

  /** Returns the entry of a key, which it creates, or `other` if there is no space. */
  of(key: string): Entry {
    const known = this.#byKey.get(key);
    if (known) {
      known.used = true;
      return known;
    }
    const index = this.#place();
    if (index === undefined) return this.other;
    const own = ownCopy(key);
    const name = this.by === 'source' ? sourceName(own) : own;
    const entry = new Entry(this.#owner.nextId(), own, name, this.#owner.turn());
    this.entries[index] = entry;
    this.#byKey.set(own, entry);
    return entry;
  }

  /** Returns the index for a new entry; `undefined` if none of those examined may be removed. */
  #place(): number | undefined {
    if (this.entries.length < this.#most) return this.entries.length;
    for (let examined = 1; examined <= MOST_EXAMINED; examined++) {
      const index = this.#hand;
      this.#hand = (index + 1) % this.#most;
      const entry = this.entries[index];
      if (!entry || entry.open > 0) continue;
      if (entry.used && examined < MOST_EXAMINED) entry.used = false;
      else {
        this.#remove(entry);
        return index;
      }
    }
    return undefined;
  }

  /** Counts an entry with the others. */
  #remove(entry: Entry): void {
    this.#byKey.delete(entry.key);
    this.other.up += entry.up;
    this.other.down += entry.down;
    this.other.flows += entry.flows;
    this.#owner.removed(entry, this.by);
  }
}

/** Returns the name of a group of sources: see `sourceGroup`. */
function sourceName(group: string): string {
  if (!IPV6_GROUP.test(group)) return group;
  const words = [0, 4, 8, 12].map((at) => Number.parseInt(group.slice(at, at + 4), 16));
  return `${words.map((word) => word.toString(16)).join(':')}::/64`;
}

const IPV6_GROUP = /^[0-9a-f]{16}$/;

/** A string of its own: that of a flow may be a part of a whole request, which it would keep in memory. */
const ownCopy = (text: string): string => Buffer.from(text, 'utf16le').toString('utf16le');

/** The properties of a flow by which it is counted. */
interface CountedBy {
  readonly account?: { readonly name?: string | undefined } | undefined;
  readonly inbound: string;
  readonly outbound: string;
  /** The client's IP address. */
  readonly source: string | undefined;
  readonly sniffed: string | undefined;
  readonly destination: { readonly host: string };
}

/** The entries that count one flow, and how much of it they have counted. */
export interface FlowUsage {
  readonly user: Entry;
  readonly inbound: Entry;
  readonly outbound: Entry;
  readonly source: Entry;
  readonly host: Entry;
  up: number;
  down: number;
}

/** A flow whose bytes are counted. */
interface CountedFlow {
  readonly usage: FlowUsage;
  readonly up: number;
  readonly down: number;
}

/** The usage of one dimension in a report. */
export interface DimensionUsage {
  readonly by: UsageDimension;
  /** Counts of names that have no entry, or none any more. */
  readonly other: UsageCounts;
  /** Entries that have changed; of those removed since, their last counts, which are also part of `other`. */
  readonly entries: readonly UsageEntry[];
}

/**
 * The usage since the start, or what has changed since an earlier report. In each dimension `other` and the entries that
 * exist sum up to `total`.
 */
export interface UsageReport {
  /** The value of `since` for the next report. */
  readonly sequence: number;
  /** Whether `dimensions` has every entry that exists, so that the reader can tell which ones were removed. */
  readonly isComplete: boolean;
  readonly total: UsageCounts;
  readonly dimensions: readonly DimensionUsage[];
  /** Ids of the entries in `dimensions` that have been removed, since the earlier report. */
  readonly removed: readonly number[];
}

/** The usage of a name. */
export interface NamedUsage extends UsageCounts {
  /** Empty for flows without a name. */
  readonly name: string;
}

/** Returns the usage of each name in a complete report. Of a name that has been removed, `other` has the rest. */
export function usageByName(
  { dimensions, removed }: Pick<UsageReport, 'dimensions' | 'removed'>,
  by: UsageDimension,
): readonly NamedUsage[] {
  const gone = new Set(removed);
  const entries = dimensions.find((each) => each.by === by)?.entries ?? [];
  return entries
    .filter(({ id }) => !gone.has(id))
    .map(({ name = '', up, down, flows }) => ({ name, up, down, flows }));
}

interface RemovedEntry {
  readonly by: UsageDimension;
  readonly entry: Entry;
  readonly sequence: number;
}

/** Bounds of a `Usage`; smaller in tests. */
interface UsageBounds {
  readonly entries?: number;
  readonly removed?: number;
}

/**
 * Counts bytes and flows by account, inbound, outbound, source and host since the start.
 *
 * Names that have no space are counted together, so that the sum over each dimension is that over all flows at any
 * time. A reader that remembers what it has read of each entry loses no byte, whatever it misses in between: see
 * `UsageReport`.
 */
export class Usage {
  readonly #tables: Readonly<Record<UsageDimension, UsageTable>>;
  readonly #total = new Counts();
  /** Entries that were removed last, oldest first from `#oldest` on. */
  readonly #removed: RemovedEntry[] = [];
  readonly #mostRemoved: number;
  #oldest = 0;
  /** The turn of the latest entry in `#removed` that was overwritten. */
  #forgotten = -1;
  #lastId = 0;
  #sequence = 1;

  constructor({ entries = MOST_ENTRIES, removed = MOST_REMOVED }: UsageBounds = {}) {
    const owner: TableOwner = {
      nextId: () => ++this.#lastId,
      turn: () => this.#sequence,
      removed: (entry, by) => this.#keep({ by, entry, sequence: this.#sequence }),
    };
    const table = (by: UsageDimension): UsageTable => new UsageTable(by, entries, owner);
    this.#tables = {
      user: table('user'),
      inbound: table('inbound'),
      outbound: table('outbound'),
      source: table('source'),
      host: table('host'),
    };
    this.#mostRemoved = removed;
  }

  /** Counts a new flow. */
  opened({ account, inbound, outbound, source, sniffed, destination }: CountedBy): FlowUsage {
    this.#total.flows++;
    const tables = this.#tables;
    return {
      user: this.#open(tables.user, account?.name ?? ''),
      inbound: this.#open(tables.inbound, inbound),
      outbound: this.#open(tables.outbound, outbound),
      source: this.#open(tables.source, sourceGroup(source)),
      host: this.#open(tables.host, (sniffed ?? destination.host).toLowerCase()),
      up: 0,
      down: 0,
    };
  }

  /** Counts the last bytes of a flow that has closed. */
  closed(flow: CountedFlow): void {
    this.#settle(flow);
    const { user, inbound, outbound, source, host } = flow.usage;
    user.open--;
    inbound.open--;
    outbound.open--;
    source.open--;
    host.open--;
  }

  /**
   * Returns the usage since the start.
   * @param open every flow that is open
   * @param since the sequence of an earlier report: entries that have not changed since then are left out; 0 for all
   */
  report(open: Iterable<CountedFlow>, since = 0): UsageReport {
    for (const flow of open) this.#settle(flow);
    const read = since > 0 && since < this.#sequence ? since : 0;
    const isComplete = read === 0 || read < this.#forgotten;
    const removed = this.#removedSince(read);
    const dimensions = USAGE_DIMENSIONS.map((by) => {
      const table = this.#tables[by];
      const entries: UsageEntry[] = [];
      for (const each of removed) if (each.by === by) entries.push(reported(each.entry, read));
      for (const entry of table.entries) {
        if (isComplete || entry.changed > read) entries.push(reported(entry, read));
      }
      return { by, other: countsOf(table.other), entries };
    });
    const sequence = this.#sequence++;
    return {
      sequence,
      isComplete,
      total: countsOf(this.#total),
      dimensions,
      removed: removed.map(({ entry }) => entry.id),
    };
  }

  #open(table: UsageTable, key: string): Entry {
    const entry = table.of(key);
    entry.open++;
    entry.flows++;
    entry.changed = this.#sequence;
    return entry;
  }

  #settle(flow: CountedFlow): void {
    const { usage } = flow;
    const up = flow.up - usage.up;
    const down = flow.down - usage.down;
    if (up === 0 && down === 0) return;
    usage.up += up;
    usage.down += down;
    this.#total.up += up;
    this.#total.down += down;
    const sequence = this.#sequence;
    add(usage.user, up, down, sequence);
    add(usage.inbound, up, down, sequence);
    add(usage.outbound, up, down, sequence);
    add(usage.source, up, down, sequence);
    add(usage.host, up, down, sequence);
  }

  /** Keeps a removed entry for readers that have not read its last counts. */
  #keep(removed: RemovedEntry): void {
    if (this.#removed.length < this.#mostRemoved) {
      this.#removed.push(removed);
      return;
    }
    this.#forgotten = this.#removed[this.#oldest]?.sequence ?? this.#forgotten;
    this.#removed[this.#oldest] = removed;
    this.#oldest = (this.#oldest + 1) % this.#mostRemoved;
  }

  #removedSince(since: number): readonly RemovedEntry[] {
    const inOrder = [...this.#removed.slice(this.#oldest), ...this.#removed.slice(0, this.#oldest)];
    return inOrder.filter(({ sequence }) => sequence > since);
  }
}

function add(entry: Entry, up: number, down: number, sequence: number): void {
  entry.up += up;
  entry.down += down;
  entry.changed = sequence;
}

const countsOf = ({ up, down, flows }: UsageCounts): UsageCounts => ({ up, down, flows });

/** Returns the counts of an entry, with its name if it was created after the report that was read last. */
const reported = ({ id, name, created, up, down, flows }: Entry, read: number): UsageEntry => ({
  id,
  name: created > read ? name : undefined,
  up,
  down,
  flows,
});
