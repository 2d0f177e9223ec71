import { configProblem, loadConfigFile } from '@weir/server/loading';
import { Router } from '@weir/proxy/router';
import { RegexCache } from '@weir/proxy/names';
import { readForeign } from '@weir/nodes/import';
import { toConfig, type WrittenConfig } from '../../../packages/nodes/src/import/write/config.ts';
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
