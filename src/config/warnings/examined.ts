import type { GeoData } from '../../engine/geo/geo-data.ts';
import type { Spec } from '../../spec.ts';
import type { ApiOptions } from '../api.ts';
import type { Places } from '../places.ts';
import type { ConfigFile } from '../sources/config-file.ts';
import type { SubscribeFile } from '../sources/subscribe-file.ts';

/** A valid configuration and the documents that it was lowered from. */
export interface Examined {
  /** The configuration file without the subscribe file. */
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
  /** Number of characters at the start of the configuration file that npm has written: see `npmHeader`. */
  readonly npmHeader: number;
  /** The files that the configuration names and that every user can read. */
  readonly publicFiles: ReadonlySet<string>;
  /** The current time in Unix milliseconds. */
  readonly now: number;
}
