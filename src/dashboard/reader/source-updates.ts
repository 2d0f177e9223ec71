import { Writable } from 'node:stream';
import { hintsOf } from '../../errors.ts';
import type { FetchedDocument } from '../../fetch/contract.ts';
import { unlessAborted } from '../../net/time/unless-aborted.ts';
import { updateTools } from '../../subscribe/update/update-tools.ts';
import { updateSources, type UpdateTools } from '../../subscribe/update/update.ts';
import type { SourceOutcome } from '../../subscribe/update/update-source.ts';
import type { UpdateDone, UpdateOutcome, UpdateWanted } from './file-requests.ts';

/** How long an answer that was shown can be applied, in milliseconds; providers change them at any time. */
const KEPT_MS = 10 * 60_000;

/** Bytes of answers that are kept; sources beyond are fetched again. */
const MOST_KEPT = 32 << 20;

/** Characters of the lines about an edit. */
const LONGEST_LINES = 4_096;

interface Kept {
  readonly document: FetchedDocument;
  readonly at: number;
}

/** Updates of subscriptions. What a dry run has fetched is applied by the next update, so that it is what was shown. */
export class SourceUpdates {
  /** By the URL of their source; the answers of the last dry run. */
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
      // An update that writes is not left half done.
      dryRun ? signal : undefined,
    );
    if (!dryRun) this.#kept.clear();
    return { outcomes: outcomes.map(outcomeOf), applied: lines.text, fetchedAgain };
  }

  /** Tools whose fetches are kept by a dry run, and taken from there by an update. */
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

function outcomeOf({ error, ...outcome }: SourceOutcome): UpdateOutcome {
  const { source, kind, difference, balancers, notes, information, leftOut } = outcome;
  return {
    source,
    kind,
    difference,
    balancers,
    notes,
    information,
    leftOut,
    error: error ? { message: error.message, hints: hintsOf(error) } : null,
  };
}

/** Keeps the lines that an edit writes for people, up to a limit. */
class Lines extends Writable {
  text = '';

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.text = (this.text + chunk.toString()).slice(0, LONGEST_LINES);
    done();
  }
}
