import { ApiOptions, type ApiListen } from '../../config/api.ts';
import type { LoadedConfig } from '../../config/load-config.ts';
import type { Warning } from '../../config/warnings/warning.ts';
import { toWanted, type Wanted } from '../../supervisor/wanted.ts';

/** A configuration that has been loaded and is ready to be applied. */
export interface PreparedConfig extends Wanted {
  /** The options of `[api]`; `undefined` without it, and where it is not served. */
  readonly api: ApiOptions | undefined;
  /** Whether an `[api]` was ignored. */
  readonly apiIgnored: boolean;
  /** Valid settings that are almost certainly mistakes. */
  readonly warnings: readonly Warning[];
}

/** A PreparedConfig as plain data: `ApiOptions` hides its secret from everything that copies it. */
export interface LoadResult extends Omit<PreparedConfig, 'api'> {
  readonly api: { readonly listen: ApiListen; readonly secret: string | undefined } | undefined;
}

export const toLoadResult = ({
  spec,
  geo,
  api,
  apiIgnored,
  warnings,
}: LoadedConfig): LoadResult => ({
  ...toWanted(spec, geo),
  api: api && { listen: api.listen, secret: api.secret },
  apiIgnored,
  warnings,
});

export const toPreparedConfig = ({ api, ...rest }: LoadResult): PreparedConfig => ({
  ...rest,
  api: api && new ApiOptions(api.listen, api.secret),
});
