import { configProblem } from '../../../src/app/loading/config-problem.ts';
import { loadConfigFile } from '../../../src/app/loading/inline-runner.ts';
import { Router } from '../../../src/engine/router/router.ts';
import { RegexCache } from '../../../src/engine/router/tables/regex-set.ts';
import { readForeign } from '../../../src/import/document.ts';
import { toConfig, type WrittenConfig } from '../../../src/import/write/config.ts';
import './load-forms.ts';

/** A document as Weir's configuration. */
export const written = (document: string): Promise<WrittenConfig> =>
  toConfig(readForeign(document), { check: configProblem });

const regexes = new RegexCache();

/** The router of a configuration. */
export async function routerOf(text: string): Promise<Router> {
  const { spec } = await loadConfigFile('imported', { bytes: Buffer.from(text), serveApi: false });
  return new Router(spec.route, { regexes });
}

/** The report, a line for each part that is not the same: `rule route.rules[1] skipped: …`. */
export const reportText = ({ report }: WrittenConfig): string =>
  report.items
    .filter(({ status }) => status !== 'imported')
    .map(({ part, source, status, notes }) => {
      const reason = notes.length === 0 ? '' : `: ${notes.join('; ')}`;
      return `${part} ${source} ${status}${reason}\n`;
    })
    .join('');
