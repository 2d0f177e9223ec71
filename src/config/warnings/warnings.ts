import { warnOfBalancers } from './balancers.ts';
import { warnOfCertificates } from './certificates.ts';
import { warnOfDns } from './dns.ts';
import type { Examined } from './examined.ts';
import { warnOfGroups } from './groups.ts';
import { warnOfListeners } from './listeners.ts';
import { warnOfLog } from './log.ts';
import { warnOfRules } from './rules.ts';
import { warnOfSettings } from './settings.ts';
import { warnOfShadowedRules } from './shadowed-rules.ts';
import { warnOfStreams } from './streams.ts';
import { warnOfUnused } from './unused.ts';
import { type Warning, WarningList } from './warning.ts';

/**
 * Finds likely mistakes in a valid configuration, in document order and limited in number. Takes time linear in the
 * length of the files.
 */
export function warningsOf(examined: Examined): readonly Warning[] {
  const list = new WarningList();
  warnOfNpmHeader(examined.npmHeader, list);
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

/** Warns of the lines of npm, which other programs that read the file reject. */
function warnOfNpmHeader(length: number, list: WarningList): void {
  if (length === 0) return;
  // Its first line is empty.
  list.add(
    'npm-header',
    { start: 1, end: length },
    () =>
      'npm has written two lines here, which Weir ignores and other programs refuse: `npm -s start -- …` writes none',
  );
}
