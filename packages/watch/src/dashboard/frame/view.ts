import type { HealthWord } from '@weir/client/monitor/health-word';

/** The topic `frame`, without parameters: the state in the frame of every page. */
export type FrameView = {
  /** The name of the configuration file, or `Weir`. */
  readonly name: string;
  /** The version of the running Weir; `null` while it is not known. */
  readonly version: string | null;
  /** The version of this dashboard. */
  readonly ownVersion: string;
  readonly health: HealthWord;
  /** Reason in one sentence; '' for `Serving`. */
  readonly why: string;
  /** States that the page has to explain, the most important first. */
  readonly states: readonly FrameState[];
  /** Bytes per second; `null` while the API is lost. */
  readonly upRate: number | null;
  readonly downRate: number | null;
  readonly flows: number | null;
  /** When the newest data arrived, in Unix milliseconds of the dashboard; `null` before the first. */
  readonly at: number | null;
  /** The dashboard's time, to the second. */
  readonly now: number;
  readonly readOnly: boolean;
  /** Flow events missed since the dashboard started watching. */
  readonly missed: number;
};

/** Why something cannot be reached, and a hint if there is one. */
type FailureReason = {
  readonly message: string;
  readonly hint: string | null;
};

/** A state that the page explains, each with a text and a next step. */
export type FrameState =
  | ({ readonly kind: 'nothing-there' | 'other-server' | 'unauthorized' | 'lost' } & FailureReason)
  /** The permissions of the API or of the control socket deny access. */
  | ({ readonly kind: 'forbidden'; readonly what: 'api' | 'socket' } & FailureReason)
  | { readonly kind: 'restarting'; readonly since: number }
  /**
   * `listen`: a suitable address; `null` if none is known. `isOld`: there was an API, and the page shows its last data.
   */
  | {
      readonly kind: 'no-api';
      readonly config: string | null;
      readonly listen: string | null;
      readonly isOld: boolean;
    }
  | ({ readonly kind: 'no-socket' } & FailureReason)
  /** `example`: a command that creates a flow; `null` if no usable inbound is known. */
  | { readonly kind: 'no-flows'; readonly example: string | null }
  | { readonly kind: 'behind'; readonly missed: number }
  /** `line` is the log message, possibly of several lines; `place`: `FILE:LINE:COLUMN`; `command` reloads. */
  | {
      readonly kind: 'reload-refused';
      readonly line: string;
      readonly place: string | null;
      readonly command: string;
    }
  | { readonly kind: 'versions-differ'; readonly running: string; readonly own: string }
  | { readonly kind: 'read-only' };
