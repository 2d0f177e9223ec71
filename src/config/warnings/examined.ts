import type { GeoData } from '../../engine/geo/geo-data.ts';
import type { Spec } from '../../spec.ts';
import type { ApiOptions } from '../api.ts';
import type { Places } from '../places.ts';
import type { ConfigFile } from '../sources/config-file.ts';
import type { SubscribeFile } from '../sources/subscribe-file.ts';

/** A valid configuration and the documents that it was lowered from. */
export interface Examined {
  /** The configuration file alone. */
  readonly own: ConfigFile;
  readonly subscribe: SubscribeFile | undefined;
  /** The merge of both files. */
  readonly merged: ConfigFile;
  readonly spec: Spec;
  readonly geo: GeoData;
  readonly api: ApiOptions | undefined;
  /**
   * Whether routes can be switched at run time, so that every outbound and balancer may be picked.
   */
  readonly canPick: boolean;
  readonly places: Places;
  /** Characters at the start of the configuration file that npm has written: see `npmHeader`. */
  readonly npmHeader: number;
  /** The files that it names and that are readable by every user. */
  readonly publicFiles: ReadonlySet<string>;
  /** Unix milliseconds. */
  readonly now: number;
}
