import { type ApiListen, ApiOptions } from '@weir/config';
import type { ConfigSource, Picks } from '@weir/config/documents';
import type { LoadedConfig, Warning } from '@weir/config/load';
import type { RouteView } from '@weir/config/route-view';
import type { LimitsSpec } from '@weir/proxy/limits';
import { toDesiredState, type DesiredState } from '../../supervisor/desired-state.ts';
import type { FileDigests } from './file-digests.ts';

/** Work on the files of a configuration: plain data, which can be sent to another thread. */
export type Task = LoadTask | RoutesTask | EditTask | LimitsTask;

export interface LoadTask extends ConfigSource {
  readonly kind: 'load';
  readonly serveApi: boolean;
}

/** Reads the routes from the files. */
interface RoutesTask extends ConfigSource {
  readonly kind: 'routes';
}

/** Whether two tasks read the same configuration. */
export const isSameSource = (a: ConfigSource, b: ConfigSource): boolean =>
  a.path === b.path &&
  a.bytes === b.bytes &&
  a.json === b.json &&
  a.directory === b.directory &&
  a.picks === b.picks;

/** Writes a pick into `bytes`: see `editPick`. */
export interface EditTask {
  readonly kind: 'edit';
  readonly path: string | undefined;
  readonly bytes: Uint8Array;
  /** Whether the file has a `[subscribe]` table. */
  readonly subscribe: boolean;
  readonly group: string;
  readonly target: string;
}

/** Reads a limits file. */
interface LimitsTask {
  readonly kind: 'limits';
  readonly path: string;
}

export type ResultOf<T extends Task> = T extends LoadTask
  ? LoadResult
  : T extends RoutesTask
    ? RoutesRead
    : T extends LimitsTask
      ? LimitsSpec
      : Uint8Array;

/** The routes as the files have them. */
export interface RoutesRead {
  /** The bytes of the configuration file. */
  readonly bytes: Uint8Array;
  /** Entity tag of these bytes, computed in the thread that reads them: megabytes take milliseconds. */
  readonly etag: string;
  readonly view: RouteView;
  /** Whether the file has a `[subscribe]` table. */
  readonly subscribe: boolean;
  /** The picks of the source that are in `view`. */
  readonly picks: Picks;
}

export interface TaskOptions {
  /** Records the files that are read, also when the task fails. */
  readonly files?: FileDigests | undefined;
  /** Ends the wait for the result. */
  readonly signal?: AbortSignal | undefined;
}

/** Runs tasks, in the calling thread (`InlineRunner`) or in another (`ConfigThread`). */
export interface TaskRunner {
  /** Runs a task. @throws {WeirError} usually a ConfigError */
  run<T extends Task>(task: T, options?: TaskOptions): Promise<ResultOf<T>>;
}

/** A configuration that has been loaded and is ready to be applied. */
export interface PreparedConfig extends DesiredState {
  /** The options of `[api]`; `undefined` without it, and where it is not served. */
  readonly api: ApiOptions | undefined;
  /** Whether an `[api]` was ignored. */
  readonly apiIgnored: boolean;
  /** The picks of the source that are in force. */
  readonly picks: Picks;
  /** Valid settings that are almost certainly mistakes. */
  readonly warnings: readonly Warning[];
}

/** A PreparedConfig as plain data: `ApiOptions` hides its secret from everything that copies it. */
interface LoadResult extends Omit<PreparedConfig, 'api'> {
  readonly api: { readonly listen: ApiListen; readonly secret: string | undefined } | undefined;
}

export const toLoadResult = ({
  spec,
  geo,
  accountNames,
  api,
  apiIgnored,
  picks,
  warnings,
}: LoadedConfig): LoadResult => ({
  ...toDesiredState(spec, geo),
  accountNames,
  api: api && { listen: api.listen, secret: api.secret },
  apiIgnored,
  picks,
  warnings,
});

export const toPreparedConfig = ({ api, ...rest }: LoadResult): PreparedConfig => ({
  ...rest,
  api: api && new ApiOptions(api.listen, api.secret),
});
