import type { ApiOptions } from '../api.ts';
import type { ConfigFile } from '../sources/config-file.ts';
import type { Places } from '../places.ts';
import type { SubscribeFile } from '../sources/subscribe-file.ts';
import type { GeoData } from '../../engine/geo/geo-data.ts';
import type { Spec } from '../../spec.ts';
import { warnOfBalancers } from './balancers.ts';
import { warnOfCertificates } from './certificates.ts';
import { warnOfDns } from './dns.ts';
import { warnOfGroups } from './groups.ts';
import { warnOfListeners } from './listeners.ts';
import { warnOfLog } from './log.ts';
import { warnOfRules } from './rules.ts';
import { warnOfSettings } from './settings.ts';
import { warnOfShadowedRules } from './shadowed-rules.ts';
import { warnOfStreams } from './streams.ts';
import { warnOfUnused } from './unused.ts';
import { type Warning, WarningList } from './warning.ts';

/** A valid configuration, and the documents that it was lowered from. */
export interface Examined {
  /** The configuration file alone. */
  readonly own: ConfigFile;
  readonly subscribe: SubscribeFile | undefined;
  /** Both files together. */
  readonly merged: ConfigFile;
  readonly spec: Spec;
  readonly geo: GeoData;
  readonly api: ApiOptions | undefined;
  /** Whether routes can be switched while it runs: each outbound and balancer is a choice then. */
  readonly canPick: boolean;
  readonly places: Places;
  /** The files that it names and that every user may read. */
  readonly publicFiles: ReadonlySet<string>;
  /** Unix milliseconds. */
  readonly now: number;
}

/**
 * What in a valid configuration is surely not meant, in document order, limited in number. Takes time
 * in proportion to the length of the files.
 */
export function warningsOf(examined: Examined): readonly Warning[] {
  const list = new WarningList();
  warnOfLog(examined.own.log, list);
  warnOfDns(examined.own.dns, list);
  warnOfListeners(examined, list);
  warnOfSettings(examined, list);
  warnOfStreams(examined, list);
  warnOfCertificates(examined, list);
  warnOfBalancers(examined.own.balancer, list);
  warnOfUnused(examined, list);
  warnOfRules(examined, list);
  warnOfShadowedRules(examined, list);
  warnOfGroups(examined, list);
  return list.shown(examined.places);
}
