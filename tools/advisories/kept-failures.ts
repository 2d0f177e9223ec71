import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { OWN, pinnedPackages } from '../../packaging/manifest.ts';
import { ROOT } from '../../packaging/root.ts';
import { lockedPackages } from './locked-packages.ts';
import { NOTHING_ASKED, verdict } from './verdict.ts';

/** What forbids a release by the kept lists alone. @param manifest of the source */
export function keptFailures(manifest = OWN): readonly string[] {
  const libraries = lockedPackages(readFileSync(join(ROOT, 'package-lock.json'), 'utf8'));
  const options = { release: false, today: 0 };
  return verdict(pinnedPackages(manifest), libraries, NOTHING_ASKED, options).failures;
}
