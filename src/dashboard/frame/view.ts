import type { HealthWord } from '../../monitor/health-word.ts';

/** What every page shows at its edge: the topic `frame`, without parameters. */
export type FrameView = {
  /** The name of the configuration file, or `Weir`. */
  readonly name: string;
  /** The version of the running Weir; `null` while it is not known. */
  readonly version: string | null;
  /** The version of this dashboard. */
  readonly ownVersion: string;
  readonly health: HealthWord;
  /** Why, in one sentence; '' for `Serving`. */
  readonly why: string;
  /** What a page has to explain, the most important first. */
  readonly states: readonly FrameState[];
  /** Bytes per second; `null` while the API is lost. */
  readonly upRate: number | null;
  readonly downRate: number | null;
  readonly flows: number | null;
  /** When the newest data came, in Unix milliseconds of the dashboard; `null` before the first. */
  readonly at: number | null;
  /** The dashboard's time, to the second. */
  readonly now: number;
  readonly readOnly: boolean;
  /** Flow events missed since the dashboard began to watch. */
  readonly missed: number;
};

/** Why something cannot be reached, and advice if there is any. */
type FailureReason = {
  readonly message: string;
  readonly hint: string | null;
};

/** Each has a text and a next step of its own. */
export type FrameState =
  | ({ readonly kind: 'nothing-there' | 'other-server' | 'unauthorized' | 'lost' } & FailureReason)
  /** The permissions of the API's or the control socket. */
  | ({ readonly kind: 'forbidden'; readonly what: 'api' | 'socket' } & FailureReason)
  | { readonly kind: 'restarting'; readonly since: number }
  /**
   * `listen`: an address that suits it; `null` if none is known. `isOld`: there was an API, and what is shown is of then.
   */
  | {
      readonly kind: 'no-api';
      readonly config: string | null;
      readonly listen: string | null;
      readonly isOld: boolean;
    }
  | ({ readonly kind: 'no-socket' } & FailureReason)
  /** `example`: a command that makes one; `null` if no inbound is known that it could use. */
  | { readonly kind: 'no-flows'; readonly example: string | null }
  | { readonly kind: 'behind'; readonly missed: number }
  /** `line` as it is logged, which may have several lines; `place`: `FILE:LINE:COLUMN`; `command` reloads. */
  | {
      readonly kind: 'reload-refused';
      readonly line: string;
      readonly place: string | null;
      readonly command: string;
    }
  | { readonly kind: 'versions-differ'; readonly running: string; readonly own: string }
  | { readonly kind: 'read-only' };
