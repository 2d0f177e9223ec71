import type { ApiClient } from '@weir/client/api';
import type { Monitor } from '@weir/client/monitor';
import type { JsonValue } from './shared/protocol.ts';

/** The dependencies of topics and actions. Its properties follow a restarted Weir: read them at each use. */
export interface DashboardContext {
  readonly monitor: Monitor;
  readonly api: ApiClient;
  /** The control socket; `undefined` if there is none. */
  readonly socket: string | undefined;
  /** Absolute path of the configuration file; `undefined` for the built-in one, or where it is not known. */
  readonly config: string | undefined;
  /** Path of the database of `weir usage record`; `undefined` if none is known. */
  readonly usage?: string | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Whether changes are refused. */
  readonly readOnly: boolean;
  /** Unix milliseconds. */
  readonly now: () => number;
}

/**
 * A kind of data that pages watch. `view` is called after each change of the monitor and of the topic's own state, for
 * each page that watches it; equal values are not sent again.
 */
export interface PageTopic {
  readonly name: string;
  /**
   * The value for a page with these untrusted parameters: at most some 60 rows. It must not be mutated later, because
   * the next value is compared with it.
   * @throws {ActionError} `bad-request` for invalid parameters
   */
  view(parameters: JsonValue): JsonValue;
  /** Starts work that is needed only while a page watches, until disposed; called once for each watching page. */
  hold?(): Disposable;
  /** Calls `listener` after changes that do not come from the monitor, until disposed. */
  onChange?(listener: () => void): Disposable;
}

/** An action that a page requests: `POST /actions/NAME`. */
export interface PageAction {
  readonly name: string;
  /** Whether the action changes anything; if so, `--read-only` refuses it. */
  readonly changes: boolean;
  /**
   * @param parameters untrusted
   * @throws {ActionError}, and any WeirError, whose code and hints the page receives
   */
  run(parameters: JsonValue, signal: AbortSignal): Promise<JsonValue>;
}

/** The server side of one page: its topics and actions. */
export interface PageSource {
  readonly topics: readonly PageTopic[];
  readonly actions: readonly PageAction[];
}

export type CreatePageSource = (context: DashboardContext) => PageSource;
