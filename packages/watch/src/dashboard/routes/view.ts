import type { AppliedReport } from '@weir/server/supervisor/reload-report';
import type { RefusalView, RestoreView } from '../config/view.ts';
import type { NodeProbe, ProbingState } from '../nodes/view.ts';

/* Views for the page Routes. Names are as in the files: the page escapes them. */

export type TargetKind = 'node' | 'outbound' | 'balancer' | 'direct' | 'blackhole';

/** The default route or a group. */
export interface RouteRow {
  /** The group's number, from 1; 0 for the default route. */
  readonly id: number;
  /** Name of the group; `default` for the default route, a name that groups cannot have. */
  readonly name: string;
  readonly pick: string | null;
  /** `null` for the default route. */
  readonly inherit: 'default' | 'direct' | 'blackhole' | { readonly group: string } | null;
  /** Names that the target is inherited from: groups, and `default` for the default route. */
  readonly chain: readonly string[];
  readonly target: string | null;
  readonly kind: TargetKind | null;
  /** Members of a balancer, and whether the last probe of each succeeded. */
  readonly members: readonly { readonly name: string; readonly health: string }[];
  /** Number of open flows; `null` where the rules of the group are not known. */
  readonly flows: number | null;
  /** Bytes per second. */
  readonly upRate: number;
  readonly downRate: number;
}

export interface RoutesView {
  /** Entity tag of the file that is shown; `null` before the first. */
  readonly etag: string | null;
  readonly at: number | null;
  /** Number of routes that match: the default route first, then groups in the order in which they are matched. */
  readonly total: number;
  readonly first: number;
  readonly rows: readonly RouteRow[];
  /** Number of all groups. */
  readonly all: number;
  /** Why flows of groups cannot be counted; `null` if they can. */
  readonly noCounts: 'absent' | 'lost' | 'connecting' | null;
  /** Number of open flows that were routed by earlier rules, and so belong to no current group. */
  readonly earlier: number;
  /** Why the routes of the files on disk cannot be read, so that older ones are shown. */
  readonly unread: string | null;
  readonly unloaded: UnloadedView | null;
  readonly readOnly: boolean;
}

/** How the files differ from what runs. */
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
  /** The last reload was refused, because of a change by another writer. */
  | { readonly kind: 'refused'; readonly refusal: RefusalView; readonly restore: RestoreView }
  /** The files were changed, and no reload followed. */
  | { readonly kind: 'changed'; readonly files: readonly string[] };

/** How a written pick can be undone. */
export type UndoView =
  /** Possible only while the file is as the pick left it. */
  | {
      readonly kind: 'possible';
      /** The previous pick; `null` if there was none. */
      readonly target: string | null;
      readonly etag: string;
      /** The equivalent command line; `null` for a route without a previous pick. */
      readonly command: readonly string[] | null;
    }
  | { readonly kind: 'impossible'; readonly reason: string };

/** A window of the names that can be picked. */
export interface RouteTargetsView {
  /** The text of the search. */
  readonly find: string;
  readonly total: number;
  readonly first: number;
  readonly rows: readonly TargetRow[];
  readonly probing: Pick<ProbingState, 'total' | 'done' | 'isRunning' | 'isPossible'>;
}

export type TargetRow = {
  /** Index of the name among all. */
  readonly id: number;
  readonly name: string;
  readonly kind: TargetKind;
  /** Number of open flows on this outbound, or on the members of this balancer, on any route. */
  readonly flows: number;
  /** Whether the health checks of a balancer have found the target down. */
  readonly isDown: boolean;
  /** The last probe of the outbound, or of the balancer's first member that is not down; `null` if there was none. */
  readonly probe: NodeProbe | null;
  /** The member that `probe` is of; `null` for a single outbound. */
  readonly probed: string | null;
};

/** The effect of a pick, or of its removal. */
export interface PickPreview {
  readonly group: string;
  /** `null` to remove the pick. */
  readonly target: string | null;
  /** Entity tag of the file that the preview is valid for; the pick is made only if the file still has it. */
  readonly etag: string;
  readonly pick: string | null;
  /** The target of new flows before and after the pick. */
  readonly from: string | null;
  readonly to: string | null;
  /** Number of flows that stay open on `from`; `null` if they cannot be counted. */
  readonly open: number | null;
  /** Why the flows cannot be counted. */
  readonly uncounted: string | null;
  /** Groups that inherit from this one, and whose target changes too. */
  readonly followers: readonly string[];
  readonly moreFollowers: number;
  /** Other changes of the files that have not been loaded yet and that the pick would load. */
  readonly others: readonly string[];
  /** The equivalent command line; `null` for a removal, which only an edit of the file makes. */
  readonly command: readonly string[] | null;
  /** The line of the file that a removal deletes. */
  readonly line: number | null;
}

export type RoutePickResult =
  | {
      readonly kind: 'done';
      /** `null` when nothing has changed. */
      readonly report: AppliedReport | null;
      /** Number of flows that were closed; `null` if closing was not requested. */
      readonly closed: number | null;
      /** Why the flows could not be closed. */
      readonly unclosed: string | null;
    }
  | ConflictView
  /** Nothing was written. */
  | { readonly kind: 'refused'; readonly refusal: RefusalView }
  /** The pick is in the file, and not in force. */
  | { readonly kind: 'written'; readonly refusal: RefusalView; readonly undo: UndoView };

/** The file has changed since the page read it. */
export interface ConflictView {
  readonly kind: 'conflict';
  /** The current entity tag of the file. */
  readonly etag: string;
  /** The requested pick; `null` if the pick was to be removed. */
  readonly group: string;
  readonly target: string | null;
  /** The route as the page had it, and as the file has it now; `null` for a group that does not exist. */
  readonly seen: ConflictSide | null;
  readonly theirs: ConflictSide | null;
  /** Other routes whose pick or target has changed. */
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
  /** The previous pick is restored, and the rest of the file is still refused. */
  | { readonly kind: 'refused'; readonly refusal: RefusalView }
  /** Another writer has changed the file, which was left alone. */
  | { readonly kind: 'conflict'; readonly message: string };
