import type { AppliedReport } from '@weir/server/supervisor/reload-report';

/*
 * Views of the configuration for the pages Config and Routes. Values from files are starred beforehand. Times are Unix
 * milliseconds.
 */

/** Whether the files on disk equal the configuration that runs. */
export type Sameness = 'same' | 'changed' | 'unknown';

/** A line of a file; values that may be secret are starred. */
export interface LineView {
  /** Number of the line, from 1. */
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
  /** Whether the lines differ only in starred values. */
  readonly hidden: boolean;
}

/** Why a configuration was refused. */
export interface RefusalView {
  readonly at: number;
  /** Text of one or more lines. */
  readonly message: string;
  readonly place: PlaceView | null;
  /** The lines around the place; empty if the file cannot be read here. */
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
  /**
   * The action of this dashboard that caused the reload: `reload`, `pick "Video" → "tokyo"`; `null` for reloads by
   * others.
   */
  readonly by: string | null;
  readonly outcome: 'applied' | 'unchanged' | 'failed';
  /** The summary, or why it failed. */
  readonly text: string;
  /** Present only for reloads by this dashboard. */
  readonly report: AppliedReport | null;
}

/** Whether the last version that ran can be restored, and if not, why. */
export type RestoreView =
  | { readonly kind: 'possible' }
  /** The version is on disk already. */
  | { readonly kind: 'needless' }
  | { readonly kind: 'impossible'; readonly reason: string };

export interface ConfigView {
  /** Absolute; `null` for the built-in configuration, or where it is not known. */
  readonly path: string | null;
  readonly builtIn: boolean;
  /** Why the file cannot be read here. */
  readonly unreadable: string | null;
  readonly changedAt: number | null;
  readonly sameness: Sameness;
  readonly changedFiles: readonly string[];
  readonly refusal: RefusalView | null;
  readonly restore: RestoreView;
  /** `null` while the files are being checked, and where they cannot be. */
  readonly check: CheckView | null;
  readonly reloads: readonly SeenReload[];
  readonly running: RunningView | null;
  readonly readOnly: boolean;
}

/** The result of checking the files on disk. */
export type CheckView = ValidFiles | { readonly kind: 'invalid'; readonly refusal: RefusalView };

/** Valid files: a reload would load them. */
export type ValidFiles = {
  readonly kind: 'valid';
  readonly warnings: readonly WarningView[];
  /** Number of lines of the effective configuration. */
  readonly lines: number;
};

export interface WarningView {
  readonly id: string;
  readonly message: string;
  readonly place: PlaceView | null;
}

/** Facts about the running Weir, from its control socket. */
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
  /** Number of lines that match. */
  readonly total: number;
  readonly first: number;
  readonly rows: readonly { readonly id: number; readonly text: string }[];
}

/** The outcome of a reload by this dashboard. */
export type ReloadResult =
  | { readonly kind: 'applied'; readonly report: AppliedReport }
  | { readonly kind: 'unchanged' }
  | { readonly kind: 'refused'; readonly refusal: RefusalView };

/** The changes that restoring the last version that ran would make to the file. */
export interface RestorePreview {
  readonly path: string;
  /** Entity tags of the file as it is and of the version that ran. */
  readonly from: string;
  readonly to: string;
  readonly difference: ChangedLines;
}

export type RestoreResult =
  | ReloadResult
  /** The file has changed since the preview, and was left alone. */
  | { readonly kind: 'conflict'; readonly message: string };
