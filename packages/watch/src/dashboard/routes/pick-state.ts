import { LRUCache } from 'lru-cache';
import { meantWeir } from '../meant-weir.ts';
import type { RouteView } from '@weir/config/route-view';
import { DEFAULT_GROUP } from '@weir/config';
import type { DashboardContext } from '../contract.ts';
import type { ConfigState } from '../config/config-state.ts';
import type { RefusalView } from '../config/view.ts';
import type { ConflictSide, UndoView, UnloadedView } from './view.ts';

/** A group, or `default`, and its new target; `null` if its pick is to be removed. */
export interface WantedPick {
  readonly group: string;
  readonly target: string | null;
}

/** A pick of this dashboard, or the removal of one, that was written to the file and could not be loaded. */
export interface WrittenPick extends WantedPick {
  /** The previous pick; `null` if there was none. */
  readonly before: string | null;
  /** Entity tag of the file after the pick. */
  readonly etag: string;
  /** The previous contents of the file, which are secret; `undefined` where the file cannot be read here. */
  readonly fileBefore: Uint8Array | undefined;
  readonly refusal: RefusalView;
}

/** The default route or a group of a view; `undefined` for a group that it does not have. */
export const routeIn = (view: RouteView, group: string): ConflictSide | undefined =>
  group === DEFAULT_GROUP ? view.default : view.groups.find(({ name }) => name === group);

/** Maximum number of versions of the routes kept, to show what a page had seen when another writer came first. */
const MAX_VIEWS = 8;

/** Picks of this dashboard that are not in force, and the versions of the routes that its pages have seen. */
export class PickState {
  readonly #context: DashboardContext;
  readonly #state: ConfigState;
  readonly #views = new LRUCache<string, RouteView>({ max: MAX_VIEWS });
  #written: WrittenPick | undefined;

  constructor(context: DashboardContext, state: ConfigState) {
    this.#context = context;
    this.#state = state;
  }

  get written(): WrittenPick | undefined {
    const { routes } = this.#context.monitor;
    // Another writer has changed the file since, or the refused file has been loaded.
    const isLater =
      routes !== undefined &&
      this.#written !== undefined &&
      routes.at > this.#written.refusal.at &&
      routes.value.etag !== this.#written.etag;
    if (isLater || this.#state.watched.sameness === 'same') this.#written = undefined;
    return this.#written;
  }

  set written(pick: WrittenPick | undefined) {
    this.#written = pick;
  }

  /** How the files differ from what runs; `undefined` if they do not, as far as is known. */
  get unloaded(): UnloadedView | undefined {
    const { written } = this;
    if (written) {
      const { group, target, refusal } = written;
      return { kind: 'pick', group, target, refusal, undo: this.undoOf(written) };
    }
    const { refusal, restore, watched } = this.#state;
    if (watched.sameness === 'same') return undefined;
    if (refusal) return { kind: 'refused', refusal, restore };
    if (watched.sameness === 'unknown') return undefined;
    return { kind: 'changed', files: watched.changedFiles };
  }

  /** How a written pick can be undone. */
  undoOf({ group, before, etag, fileBefore }: WrittenPick): UndoView {
    if (before !== null) {
      const options = ['--if-match', etag, ...meantWeir(this.#context)];
      const command = ['weir', 'ctl', 'pick', group, before, ...options];
      return { kind: 'possible', target: before, etag, command };
    }
    if (fileBefore) return { kind: 'possible', target: null, etag, command: null };
    const reason =
      'The route had no pick before, and the file cannot be edited here: the API removes no picks.';
    return { kind: 'impossible', reason };
  }

  /** Stores a version of the routes that a page is shown. */
  see(etag: string, view: RouteView): void {
    this.#views.set(etag, view);
  }

  /** A version of the routes that a page was shown; `undefined` once it has been evicted. */
  seen(etag: string): RouteView | undefined {
    const { routes } = this.#context.monitor;
    return this.#views.get(etag) ?? (routes?.value.etag === etag ? routes.value.view : undefined);
  }
}
