import type { ApiClient } from '../client/api-client.ts';
import type { Monitor } from '../monitor/contract.ts';
import type { JsonValue } from './shared/protocol.ts';

/** What topics and actions work with. Its properties follow a Weir that is started anew: read them at each use. */
export interface DashboardContext {
  readonly monitor: Monitor;
  readonly api: ApiClient;
  /** The control socket; `undefined` if there is none. */
  readonly socket: string | undefined;
  /** Absolute path of the configuration file; `undefined` for the built-in one, or where it is not known. */
  readonly config: string | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Changes are refused. */
  readonly readOnly: boolean;
  /** Unix milliseconds. */
  readonly now: () => number;
}

/**
 * One kind of data that pages watch. `view` is called after each change of the monitor and of the topic's own
 * state, for each page that watches it; equal values are not sent again.
 */
export interface PageTopic {
  readonly name: string;
  /**
   * The value for a page with these parameters, which are foreign: at most some 60 rows. It must not change later,
   * because the next one is compared with it.
   * @throws {ActionError} `bad-request` for invalid parameters
   */
  view(parameters: JsonValue): JsonValue;
  /** Work that is only needed while a page watches; called once for each that does. */
  hold?(): Disposable;
  /** Changes that do not come from the monitor. */
  onChange?(listener: () => void): Disposable;
}

/** Something a page asks for once: `POST /actions/NAME`. */
export interface PageAction {
  readonly name: string;
  /** Whether it changes anything: refused with `--read-only`. */
  readonly changes: boolean;
  /**
   * @param parameters foreign
   * @throws {ActionError}, and any WeirError, which the page gets with its code and hints
   */
  run(parameters: JsonValue, signal: AbortSignal): Promise<JsonValue>;
}

/** The part of the dashboard behind one page: its topics and actions. */
export interface PageSource {
  readonly topics: readonly PageTopic[];
  readonly actions: readonly PageAction[];
}

export type CreatePageSource = (context: DashboardContext) => PageSource;
