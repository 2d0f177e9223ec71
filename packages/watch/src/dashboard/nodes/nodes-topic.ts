import { LRUCache } from 'lru-cache';
import type { DashboardContext, PageTopic } from '../contract.ts';
import type { FileModel } from '../reader/file-model.ts';
import { Parameters } from '../parameters.ts';
import type { JsonValue } from '../shared/protocol.ts';
import { DEFAULT_RUN, type NodeProbes } from './node-probes.ts';
import { matchingRows, nodeRows, sortedRows } from './node-rows.ts';
import type { NodeRow, NodesParameters, NodesView, LostBalancersView } from './view.ts';

/** Maximum number of orders kept for held rows, one for each sort key and search. */
const MOST_ORDERS = 16;

const SORTS = ['file', 'tag', 'protocol', 'flows', 'rate', 'total', 'second'] as const;

/** The topic `nodes`. */
export class NodesTopic implements PageTopic {
  readonly name = 'nodes';
  readonly #context: Pick<DashboardContext, 'monitor' | 'socket'>;
  readonly #file: FileModel;
  readonly #probes: NodeProbes;
  readonly #orders = new LRUCache<string, ReadonlyMap<string, number>>({ max: MOST_ORDERS });

  constructor(
    context: Pick<DashboardContext, 'monitor' | 'socket'>,
    file: FileModel,
    probes: NodeProbes,
  ) {
    this.#context = context;
    this.#file = file;
    this.#probes = probes;
  }

  view(parameters: JsonValue): NodesView {
    const { id, search, sort, descending, held, first, count } = wantedOf(parameters);
    const { facts, state } = this.#file;
    const rows = this.#rows();
    const matching = id === '' ? matchingRows(rows, search) : rows.filter((row) => row.id === id);
    const key = JSON.stringify([id, search, sort, descending]);
    const ordered = this.#ordered(key, held, matching, (some) =>
      sortedRows(some, sort, descending),
    );
    const start = Math.max(0, Math.min(first, ordered.length - count));
    return {
      file: state,
      total: rows.length,
      matching: ordered.length,
      probable: matching.filter(isProbable).length,
      more: facts?.moreNodes ?? 0,
      first: start,
      rows: ordered.slice(start, start + count),
      probing: {
        ...this.#probes.progress,
        ...DEFAULT_RUN,
        isPossible: this.#context.socket !== undefined,
      },
    };
  }

  /** Tags of outbounds and balancers that match a search and can be probed. */
  tagsFor(search: string): readonly string[] {
    return matchingRows(this.#rows(), search)
      .filter(isProbable)
      .map(({ tag }) => tag);
  }

  hold(): Disposable {
    return this.#file.hold();
  }

  onChange(listener: () => void): Disposable {
    const both = new DisposableStack();
    both.use(this.#probes.onChange(listener));
    both.use(this.#file.onChange(listener));
    return both;
  }

  #rows(): readonly NodeRow[] {
    return nodeRows(this.#file.facts, this.#context.monitor, (tag) => this.#probes.of(tag));
  }

  /** Sorts rows, or keeps the order of the last view while they are held: nothing moves under a pointer. */
  #ordered(
    key: string,
    held: boolean,
    rows: readonly NodeRow[],
    sort: (rows: readonly NodeRow[]) => readonly NodeRow[],
  ): readonly NodeRow[] {
    const order = held ? this.#orders.get(key) : undefined;
    const sorted = sort(rows);
    if (order) {
      const place = ({ id }: NodeRow): number => order.get(id) ?? order.size;
      return sorted.toSorted((a, b) => place(a) - place(b));
    }
    this.#orders.set(key, new Map(sorted.map(({ id }, index) => [id, index])));
    return sorted;
  }
}

const isProbable = ({ kind, protocol }: NodeRow): boolean =>
  kind === 'outbound' && protocol !== 'blackhole';

/** Checks the parameters of the topic. @throws {ActionError} */
function wantedOf(value: JsonValue): NodesParameters {
  const parameters = new Parameters(value);
  return {
    id: parameters.text('id', ''),
    search: parameters.text('search', ''),
    sort: parameters.choice('sort', SORTS, 'file'),
    descending: parameters.flag('descending'),
    held: parameters.flag('held'),
    ...parameters.window(),
  };
}

/** Maximum number of balancers that a page receives. */
const MAX_ROWS = 20;

/** The topic `lost-balancers`. */
export const lostBalancersTopic = (file: FileModel): PageTopic => ({
  name: 'lost-balancers',
  view: (): LostBalancersView => {
    const lost = (file.facts?.balancers ?? []).filter(({ lostFrom }) => lostFrom.length > 0);
    return {
      rows: lost.slice(0, MAX_ROWS).map(({ tag, lostFrom }) => ({ id: tag, sources: lostFrom })),
      more: Math.max(0, lost.length - MAX_ROWS),
    };
  },
  hold: () => file.hold(),
  onChange: (listener) => file.onChange(listener),
});
