import type { Release } from './verdict.ts';

const HEADING = /^## (\d{4}-\d\d-\d\d), Version (\d+\.\d+\.\d+)[ ,]/;

/** The releases of a changelog of Node, as its packages bring it, newest first. */
export function releasesOf(changelog: string): readonly Release[] {
  const releases: { version: string; date: string; isSecurity: boolean }[] = [];
  for (const line of changelog.split('\n')) {
    const [, date, version] = HEADING.exec(line) ?? [];
    if (date !== undefined && version !== undefined)
      releases.push({ version, date, isSecurity: false });
    const current = releases.at(-1);
    if (current && line.startsWith('This is a security release')) current.isSecurity = true;
  }
  return releases;
}
