import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './root.ts';

const RELEASE = /^## \d\S* \((\d{4}-\d{2}-\d{2})\)$/m;

/** The date that npm gives all files: that of a build before the first dated release. */
const BEFORE_RELEASES = Date.parse('1985-10-26T08:15:00Z');

/**
 * The date of everything that is built, in Unix milliseconds: SOURCE_DATE_EPOCH (in seconds,
 * <https://reproducible-builds.org/specs/source-date-epoch/>), or the day of the newest dated release in the changelog.
 *
 * @throws {RangeError} for a SOURCE_DATE_EPOCH that is not a count of seconds
 */
export function sourceDate(
  epoch = process.env['SOURCE_DATE_EPOCH'],
  news = readFileSync(join(ROOT, 'CHANGELOG.md'), 'utf8'),
): number {
  if (epoch !== undefined && epoch !== '') {
    if (!/^\d{1,11}$/.test(epoch)) {
      throw new RangeError(`SOURCE_DATE_EPOCH has to be a count of seconds, not ${epoch}`);
    }
    return Number(epoch) * 1000;
  }
  const [, day] = RELEASE.exec(news) ?? [];
  return day === undefined ? BEFORE_RELEASES : Date.parse(day);
}
