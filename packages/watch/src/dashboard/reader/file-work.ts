import { randomUUID } from 'node:crypto';
import { Mutex } from '@weir/server/edits';
import { explainFlow, flowText } from '@weir/nodes/explain';
import { parseFlow } from '@weir/nodes/explain/flow';
import { changedLines } from '../config/changed-lines.ts';
import { listSources } from '@weir/nodes/subscribe';
import type {
  FileRequestName,
  FileResult,
  FileWorker,
  FlowExplained,
  FlowWanted,
  ParametersOf,
} from './file-requests.ts';
import { checkFiles, linesAround } from './config-check.ts';
import { EffectiveText } from './effective-text.ts';
import { KeptReading } from './kept-reading.ts';
import { ReadConfiguration } from './read-configuration.ts';
import { shortPlace, targetText } from './rule-search.ts';
import { SourceUpdates } from './source-updates.ts';
import { planUnpick, unpick } from './unpick.ts';

/** Maximum number of skipped rules in one result. */
const SHOWN_PASSED = 60;

/** Runs requests in this thread. It keeps one configuration, which it reads again when a file has changed. */
export class FileWork implements FileWorker {
  readonly #mutex = new Mutex();
  readonly #updates = new SourceUpdates();
  /** Number of versions of this thread; they must differ from those of an earlier thread. */
  #versions = 0;
  readonly #series = randomUUID();
  readonly #configuration = new KeptReading(this.#mutex, (file, files) =>
    ReadConfiguration.read(file, files, `${this.#series} ${++this.#versions}`),
  );
  /** The effective text of the same configuration, used only by the page Config. */
  readonly #effective = new KeptReading(this.#mutex, (file, files) =>
    EffectiveText.read(file, files),
  );

  async ask<K extends FileRequestName>(
    name: K,
    parameters: ParametersOf<K>,
    signal?: AbortSignal,
  ): Promise<FileResult<K>> {
    const handler = this.handlers[name];
    return handler(parameters, signal);
  }

  readonly handlers: {
    readonly [K in FileRequestName]: (
      parameters: ParametersOf<K>,
      signal?: AbortSignal,
    ) => Promise<FileResult<K>>;
  } = {
    facts: async (file) => (await this.#configuration.of(file)).facts,
    rules: async (wanted) => {
      const { search, facts } = await this.#configuration.of(wanted);
      return { version: facts.version, ...search.window(wanted) };
    },
    explain: async (wanted) => explained(await this.#configuration.of(wanted), wanted),
    check: (wanted) => checkFiles(wanted, this.#effective),
    lines: linesAround,
    text: async ({ path, pid, ...wanted }) =>
      (await this.#effective.of({ path, pid })).window(wanted),
    difference: ({ before, after }) => {
      const [old = '', now = ''] = [before, after].map((bytes) => new TextDecoder().decode(bytes));
      return changedLines(old, now);
    },
    'unpick-plan': planUnpick,
    unpick,
    sources: ({ path }) => listSources(path),
    update: (wanted, signal) => this.#updates.run(wanted, signal),
  };
}

/** Explains a flow. @throws {UsageError} for invalid properties, and an unknown inbound */
function explained({ routes, explainer }: ReadConfiguration, flow: FlowWanted): FlowExplained {
  const asked = parseFlow(flow.to, flow);
  const { query, answer, notes } = explainFlow(asked, routes, explainer);
  const { spec, places } = routes;
  const { rule, matcher, group, passed_over: passed } = answer;
  const decided = rule === null ? spec.route.default : (spec.route.rules[rule]?.outbound ?? '');
  const first = Math.max(0, Math.min(flow.first, passed.length - SHOWN_PASSED));
  return {
    flow: flowText(query),
    target: targetText(spec, decided),
    rule,
    place: shortPlace(places.of(rule ?? undefined)),
    group,
    matched: matcher && matcher.map(({ key, value }) => ({ key, entry: value })),
    passed: {
      total: passed.length,
      first,
      rows: passed.slice(first, first + SHOWN_PASSED).map((each) => ({
        id: each.rule,
        place: shortPlace(places.of(each.rule)),
        group: each.group,
        outbound: each.outbound,
        reason: each.reason,
      })),
    },
    notes: notes.map(({ text, option }) => ({ text, option: option ?? null })),
  };
}
