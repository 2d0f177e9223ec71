import { sourceDate } from './source-date.ts';

/** Of the package; there is no address to write to. */
export const MAINTAINER = 'The Weir authors <weir@weir.invalid>';

const VERSION = /^## (\d\S*)(?: \((\d{4}-\d{2}-\d{2})\))?/;

/**
 * A Debian changelog with the versions and entries of CHANGELOG.md.
 * @param date of versions without a date of their own, in Unix milliseconds
 */
export function debianChangelog(news: string, date = sourceDate()): string {
  const entries: string[] = [];
  for (const section of news.split(/^(?=## )/m)) {
    const [, version, day] = VERSION.exec(section) ?? [];
    if (version === undefined) continue;
    const lines = section.split('\n').flatMap((line) => {
      if (line.startsWith('- ')) return [`  * ${line.slice(2)}`];
      return line.startsWith('  ') ? [`    ${line.trim()}`] : [];
    });
    const head = `weir (${version}) unstable; urgency=medium`;
    const signature = ` -- ${MAINTAINER}  ${written(day === undefined ? date : Date.parse(day))}`;
    entries.push([head, '', ...lines, '', signature, ''].join('\n'));
  }
  return entries.join('\n');
}

/** As RFC 5322 has it. */
const written = (at: number): string => new Date(at).toUTCString().replace('GMT', '+0000');
