import type { AppliedReport } from '../../supervisor/reload-report.ts';

/*
 * What the pages Config and Routes get of the configuration. Values of files are starred before they are here.
 * Times are Unix milliseconds.
 */

/** Whether the files are what runs. */
export type Sameness = 'same' | 'changed' | 'unknown';

/** A line of a file; values that may be secret are starred. */
export interface LineView {
  /** From 1. */
  readonly line: number;
  readonly text: string;
}

/** How one document differs from another: the lines from the first difference to the last. */
export interface ChangedLines {
  /** Equal lines before the first difference. */
  readonly context: readonly LineView[];
  readonly removed: readonly LineView[];
  readonly added: readonly LineView[];
  /** Further lines of `removed` and of `added` that are left out. */
  readonly moreRemoved: number;
  readonly moreAdded: number;
  /** The lines differ only in what is starred. */
  readonly hidden: boolean;
}

/** Why a configuration was refused. */
export interface RefusalView {
  readonly at: number;
  /** One or more lines. */
  readonly message: string;
  readonly place: PlaceView | null;
  /** The lines around the place; none if the file cannot be read here. */
  readonly lines: readonly LineView[];
  readonly hints: readonly string[];
}

export interface PlaceView {
  readonly file: string | null;
  readonly line: number;
  readonly column: number;
}

/** A reload that the dashboard has seen, or the last one before it began. */
export interface SeenReload {
  readonly id: number;
  readonly at: number;
  /** What this dashboard did: `reload`, `pick "Video" → "tokyo"`; `null` for reloads by others. */
  readonly by: string | null;
  readonly outcome: 'applied' | 'unchanged' | 'failed';
  /** The summary, or why it failed. */
  readonly text: string;
  /** Only of reloads by this dashboard. */
  readonly report: AppliedReport | null;
}

/** Whether the last version that ran can be restored, and why not. */
export type RestoreView =
  | { readonly kind: 'possible' }
  /** It is on disk. */
  | { readonly kind: 'needless' }
  | { readonly kind: 'impossible'; readonly reason: string };

export interface ConfigView {
  /** Absolute; `null` for the built-in configuration, or where it is not known. */
  readonly path: string | null;
  readonly builtIn: boolean;
  /** Why it cannot be read here. */
  readonly unreadable: string | null;
  readonly changedAt: number | null;
  readonly sameness: Sameness;
  readonly changedFiles: readonly string[];
  readonly refusal: RefusalView | null;
  readonly restore: RestoreView;
  /** `null` while the files are being examined, and where they cannot be. */
  readonly check: CheckView | null;
  readonly reloads: readonly SeenReload[];
  readonly running: RunningView | null;
  readonly readOnly: boolean;
}

/** What a check of the files on disk finds. */
export type CheckView = ValidFiles | { readonly kind: 'invalid'; readonly refusal: RefusalView };

/** Files that would be loaded. */
export type ValidFiles = {
  readonly kind: 'valid';
  readonly warnings: readonly WarningView[];
  /** Lines of the effective configuration. */
  readonly lines: number;
};

export interface WarningView {
  readonly id: string;
  readonly message: string;
  readonly place: PlaceView | null;
}

/** What the running Weir says of itself. */
export interface RunningView {
  readonly version: string;
  readonly pid: number;
  readonly startedAt: number;
  readonly planeEpoch: number;
  readonly api: string | null;
  readonly limits: readonly {
    readonly name: string;
    readonly used: number;
    readonly limit: number;
  }[];
  /** Bytes. */
  readonly memory: {
    readonly resident: number;
    readonly heapUsed: number;
    readonly heapTotal: number;
    readonly external: number;
  };
  /** Milliseconds. */
  readonly loop: {
    readonly since: number;
    readonly p50: number;
    readonly p99: number;
    readonly max: number;
  } | null;
}

/** A window of the effective configuration. */
export interface ConfigTextView {
  /** Lines that match. */
  readonly total: number;
  readonly first: number;
  readonly rows: readonly { readonly id: number; readonly text: string }[];
}

/** The outcome of a reload by this dashboard. */
export type ReloadResult =
  | { readonly kind: 'applied'; readonly report: AppliedReport }
  | { readonly kind: 'unchanged' }
  | { readonly kind: 'refused'; readonly refusal: RefusalView };

/** What restoring the last version that ran would change in the file. */
export interface RestorePreview {
  readonly path: string;
  /** Entity tags of the file as it is and of the version that ran. */
  readonly from: string;
  readonly to: string;
  readonly difference: ChangedLines;
}

export type RestoreResult =
  | ReloadResult
  /** The file is not the one of the preview any more, and was left alone. */
  | { readonly kind: 'conflict'; readonly message: string };
