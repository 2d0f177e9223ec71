/** Of the package; there is no address to write to. */
export const MAINTAINER = 'The Weir authors <weir@weir.invalid>';

const VERSION = /^## (\d\S*)/;

/** A Debian changelog with the versions and entries of CHANGELOG.md. */
export function debianChangelog(news: string, date = changeDate()): string {
  const entries: string[] = [];
  for (const section of news.split(/^(?=## )/m)) {
    const [, version] = VERSION.exec(section) ?? [];
    if (version === undefined) continue;
    const lines = section.split('\n').flatMap((line) => {
      if (line.startsWith('- ')) return [`  * ${line.slice(2)}`];
      return line.startsWith('  ') ? [`    ${line.trim()}`] : [];
    });
    const head = `weir (${version}) unstable; urgency=medium`;
    entries.push([head, '', ...lines, '', ` -- ${MAINTAINER}  ${date}`, ''].join('\n'));
  }
  return entries.join('\n');
}

/** As RFC 5322 has it; of SOURCE_DATE_EPOCH in seconds, so that a build can be repeated. */
function changeDate(): string {
  const seconds = process.env['SOURCE_DATE_EPOCH'];
  const date = seconds === undefined ? new Date() : new Date(Number(seconds) * 1000);
  return date.toUTCString().replace('GMT', '+0000');
}
