import { shownLines } from '@weir/config/effective';
import type { ChangedLines, LineView } from '../config/view.ts';
import { Writable } from 'node:stream';
import { hintsOf } from '@weir/base';
import type { FetchedDocument } from '@weir/nodes/fetch';
import { unlessAborted } from '@weir/io/time';
import {
  updateTools,
  updateSources,
  type UpdateTools,
  type SourceOutcome,
  listSources,
} from '@weir/nodes/subscribe';
import type {
  UpdateDone,
  UpdateOutcome,
  UpdateWanted,
  FileRequestName,
  FileResult,
  FileWorker,
  FlowExplained,
  FlowWanted,
  ParametersOf,
} from './file-requests.ts';
import { randomUUID } from 'node:crypto';
import { Mutex } from '@weir/server/edits';
import { explainFlow, flowText } from '@weir/nodes/explain';
import { parseFlow } from '@weir/nodes/explain/flow';
import { checkFiles, linesAround, planUnpick, unpick } from './config-check.ts';
import { EffectiveText } from './effective-text.ts';
import { KeptReading, ReadConfiguration } from './read-configuration.ts';
import { shortPlace, targetText } from './rule-search.ts';

const CONTEXT = 2;
/** Maximum number of lines listed for each side. */
const MOST = 24;

/**
 * Compares two texts by their common prefix and suffix of lines: returns the lines removed and added between them, with
 * secrets starred.
 */
export async function changedLines(before: string, after: string): Promise<ChangedLines> {
  const old = before.split('\n');
  const now = after.split('\n');
  const least = Math.min(old.length, now.length);
  let head = 0;
  while (head < least && old[head] === now[head]) head++;
  let tail = 0;
  while (tail < least - head && old.at(-1 - tail) === now.at(-1 - tail)) tail++;
  const counts = [old.length - head - tail, now.length - head - tail] as const;
  const part = (text: string, count: number): Promise<readonly LineView[]> =>
    count === 0 ? Promise.resolve([]) : shownLines(text, head + 1, head + Math.min(count, MOST));
  const removed = await part(before, counts[0]);
  const added = await part(after, counts[1]);
  const context = head === 0 ? [] : await shownLines(after, head + 1 - CONTEXT, head);
  const texts = (lines: readonly LineView[]): string => lines.map(({ text }) => text).join('\n');
  return {
    context: context.slice(-CONTEXT),
    removed,
    added,
    moreRemoved: counts[0] - removed.length,
    moreAdded: counts[1] - added.length,
    hidden: counts[0] === counts[1] && counts[0] > 0 && texts(removed) === texts(added),
  };
}

/** Milliseconds for which a previewed response can be applied; providers change their responses at any time. */
const KEPT_MS = 10 * 60_000;

/** Maximum size in bytes of all kept responses; sources beyond it are fetched again. */
const MOST_KEPT = 32 << 20;

/** Maximum number of characters of the lines about an edit. */
const LONGEST_LINES = 4_096;

interface Kept {
  readonly document: FetchedDocument;
  readonly at: number;
}

/**
 * Updates subscriptions. The next update applies the responses that a dry run has fetched, so that the result is the
 * one previewed.
 */
class SourceUpdates {
  /** Responses of the last dry run, by the URL of their source. */
  readonly #kept = new Map<string, Kept>();

  async run(wanted: UpdateWanted, signal?: AbortSignal): Promise<UpdateDone> {
    const { path: config, names, dryRun, force, socket, env } = wanted;
    const lines = new Lines();
    const fetchedAgain: string[] = [];
    const tools = updateTools({ config, socket, io: { stderr: lines, env } });
    if (dryRun) this.#kept.clear();
    const request = { config, names, ifDue: false, dryRun, force };
    const outcomes = await unlessAborted(
      updateSources(request, this.#with(tools, dryRun, fetchedAgain)),
      // Cancelling must not interrupt an update while it writes.
      dryRun ? signal : undefined,
    );
    if (!dryRun) this.#kept.clear();
    return { outcomes: outcomes.map(outcomeOf), applied: lines.text, fetchedAgain };
  }

  /** Wraps the tools so that a dry run stores its responses, and an update uses the stored ones. */
  #with(tools: UpdateTools, dryRun: boolean, fetchedAgain: string[]): UpdateTools {
    return {
      ...tools,
      openFetch: async (source) => {
        const kept = dryRun ? undefined : this.#take(source.url);
        if (kept) {
          const fetch = (): Promise<FetchedDocument> => Promise.resolve(kept);
          return { fetch, [Symbol.asyncDispose]: () => Promise.resolve() };
        }
        const way = await tools.openFetch(source);
        if (!dryRun) fetchedAgain.push(source.name);
        return {
          fetch: async (request, fetchSignal) => {
            const document = await way.fetch(request, fetchSignal);
            if (dryRun) this.#keep(source.url, document);
            return document;
          },
          [Symbol.asyncDispose]: () => way[Symbol.asyncDispose](),
        };
      },
    };
  }

  #keep(url: string, document: FetchedDocument): void {
    let bytes = document.body.length;
    for (const { document: other } of this.#kept.values()) bytes += other.body.length;
    if (bytes <= MOST_KEPT) this.#kept.set(url, { document, at: performance.now() });
  }

  #take(url: string): FetchedDocument | undefined {
    const kept = this.#kept.get(url);
    return kept && performance.now() - kept.at < KEPT_MS ? kept.document : undefined;
  }
}

/** Maximum number of remarks of each kind on a list, which may leave out 50,000 entries. */
const MOST_REMARKS = 50;
/** Maximum number of characters of one of them. */
const LONGEST_REMARK = 500;

const remarksOf = (texts: readonly string[]): readonly string[] =>
  texts.slice(0, MOST_REMARKS).map((text) => text.slice(0, LONGEST_REMARK));

/** The outcome as the pages show it: what is cut off here is not copied into their thread. */
function outcomeOf({ error, ...outcome }: SourceOutcome): UpdateOutcome {
  const { source, kind, difference, balancers, notes, information, leftOut } = outcome;
  return {
    source,
    kind,
    difference,
    balancers: balancers.slice(0, MOST_REMARKS),
    notes: remarksOf(notes),
    information: remarksOf(information),
    leftOut: leftOut.slice(0, MOST_REMARKS).map(({ name, reason }) => ({
      name: name.slice(0, LONGEST_REMARK),
      reason: reason.slice(0, LONGEST_REMARK),
    })),
    error: error ? { message: error.message, hints: hintsOf(error) } : null,
  };
}

/** Collects the lines that an edit writes for users, up to a limit. */
class Lines extends Writable {
  text = '';

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.text = (this.text + chunk.toString()).slice(0, LONGEST_LINES);
    done();
  }
}

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
