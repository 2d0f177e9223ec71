import type { AppliedReport } from '../../supervisor/reload-report.ts';
import type { RefusalView, RestoreView } from '../config/view.ts';
import type { NodeProbe, ProbingState } from '../nodes/view.ts';

/* What the page Routes gets. Names are as in the files: the page escapes them. */

export type TargetKind = 'node' | 'outbound' | 'balancer' | 'direct' | 'blackhole';

/** The default route or a group. */
export interface RouteRow {
  /** Its number among the groups, from 1; 0 for the default route. */
  readonly id: number;
  /** `default` for the default route, which no group can have. */
  readonly name: string;
  readonly pick: string | null;
  /** `null` for the default route. */
  readonly inherit: 'default' | 'direct' | 'blackhole' | { readonly group: string } | null;
  /** The way to the target: groups that are inherited from, `default` for the default route. */
  readonly chain: readonly string[];
  readonly target: string | null;
  readonly kind: TargetKind | null;
  /** Members of a balancer, and whether the last probe of each succeeded. */
  readonly members: readonly { readonly name: string; readonly health: string }[];
  /** Open flows; `null` where the rules of the group are not known. */
  readonly flows: number | null;
  /** Bytes per second. */
  readonly upRate: number;
  readonly downRate: number;
}

export interface RoutesView {
  /** The version of the file that is shown; `null` before the first. */
  readonly etag: string | null;
  readonly at: number | null;
  /** Routes that match: the default route first, then groups in the order in which they are matched. */
  readonly total: number;
  readonly first: number;
  readonly rows: readonly RouteRow[];
  /** Groups in all. */
  readonly all: number;
  /** Why flows of groups cannot be counted; `null` if they can. */
  readonly noCounts: 'absent' | 'lost' | 'connecting' | null;
  /** Open flows that were routed by earlier rules and so belong to no group of now. */
  readonly earlier: number;
  /** Why the routes of the files on disk cannot be read: those shown are older. */
  readonly unread: string | null;
  readonly unloaded: UnloadedView | null;
  readonly readOnly: boolean;
}

/** The files are not what runs. */
export type UnloadedView =
  /** A pick of this dashboard was written and could not be loaded. */
  | {
      readonly kind: 'pick';
      readonly group: string;
      /** `null`: its pick was removed. */
      readonly target: string | null;
      readonly refusal: RefusalView;
      readonly undo: UndoView;
    }
  /** The last reload was refused, for what another writer wrote. */
  | { readonly kind: 'refused'; readonly refusal: RefusalView; readonly restore: RestoreView }
  /** The files were changed, and no reload followed. */
  | { readonly kind: 'changed'; readonly files: readonly string[] };

/** How a written pick is taken back. */
export type UndoView =
  /** Only if the file is as the pick left it. */
  | {
      readonly kind: 'possible';
      /** The pick before; `null` if there was none. */
      readonly target: string | null;
      readonly etag: string;
      /** The same as a command line; `null` for a route without a pick. */
      readonly command: readonly string[] | null;
    }
  | { readonly kind: 'impossible'; readonly reason: string };

/** A window of the names that can be picked. */
export interface RouteTargetsView {
  /** What was searched for. */
  readonly find: string;
  readonly total: number;
  readonly first: number;
  readonly rows: readonly TargetRow[];
  readonly probing: Pick<ProbingState, 'total' | 'done' | 'isRunning' | 'isPossible'>;
}

export type TargetRow = {
  /** Its number among all. */
  readonly id: number;
  readonly name: string;
  readonly kind: TargetKind;
  /** Open flows on this outbound, or on the members of this balancer, of whatever route. */
  readonly flows: number;
  /** Whether the health checks of a balancer have found it down. */
  readonly isDown: boolean;
  /** The last probe of it, of a balancer that of the first member that is not down; `null` if there was none. */
  readonly probe: NodeProbe | null;
  /** That member; `null` for a single outbound. */
  readonly probed: string | null;
};

/** What a pick would do, or its removal. */
export interface PickPreview {
  readonly group: string;
  /** `null` to remove the pick. */
  readonly target: string | null;
  /** The version of the file that this is true for; the pick is made only if it is still that one. */
  readonly etag: string;
  readonly pick: string | null;
  /** Where new flows go before and after it. */
  readonly from: string | null;
  readonly to: string | null;
  /** Flows that stay open on `from`; `null` if they cannot be counted. */
  readonly open: number | null;
  /** Why they cannot. */
  readonly uncounted: string | null;
  /** Groups whose target changes too, because they inherit from this one. */
  readonly followers: readonly string[];
  readonly moreFollowers: number;
  /** Other changes of the files that have not been loaded yet, which the pick would load. */
  readonly others: readonly string[];
  /** The same as a command line; `null` for a removal, which only an edit of the file makes. */
  readonly command: readonly string[] | null;
  /** The line of the file that a removal takes away. */
  readonly line: number | null;
}

export type RoutePickResult =
  | {
      readonly kind: 'done';
      /** `null` when nothing had changed. */
      readonly report: AppliedReport | null;
      /** Flows that were closed; `null` if none were to be. */
      readonly closed: number | null;
      /** Why they could not be closed. */
      readonly unclosed: string | null;
    }
  | ConflictView
  /** Nothing was written. */
  | { readonly kind: 'refused'; readonly refusal: RefusalView }
  /** It is in the file, and not in force. */
  | { readonly kind: 'written'; readonly refusal: RefusalView; readonly undo: UndoView };

/** The file has been changed since the page has read it. */
export interface ConflictView {
  readonly kind: 'conflict';
  /** The version that the file has now. */
  readonly etag: string;
  /** What was to be picked; `null` if the pick was to be removed. */
  readonly group: string;
  readonly target: string | null;
  /** The route as the page had it, and as the file has it now; `null` for a group that is not there. */
  readonly seen: ConflictSide | null;
  readonly theirs: ConflictSide | null;
  /** Other routes whose pick or target differs now. */
  readonly others: readonly ConflictRoute[];
  readonly moreOthers: number;
  /** Whether the pick can still be made. */
  readonly possible: boolean;
}

export interface ConflictSide {
  readonly pick: string | null;
  readonly target: string | null;
}

export interface ConflictRoute {
  readonly name: string;
  readonly seen: ConflictSide | null;
  readonly theirs: ConflictSide | null;
}

export type UndoResult =
  | { readonly kind: 'done'; readonly report: AppliedReport | null }
  /** The pick is as it was, and the rest of the file is still refused. */
  | { readonly kind: 'refused'; readonly refusal: RefusalView }
  /** Another writer has changed the file meanwhile: it was left alone. */
  | { readonly kind: 'conflict'; readonly message: string };
