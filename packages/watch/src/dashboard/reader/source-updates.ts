import { Writable } from 'node:stream';
import { hintsOf } from '@weir/base';
import type { FetchedDocument } from '@weir/nodes/fetch';
import { unlessAborted } from '@weir/io/time';
import {
  updateTools,
  updateSources,
  type UpdateTools,
  type SourceOutcome,
} from '@weir/nodes/subscribe';
import type { UpdateDone, UpdateOutcome, UpdateWanted } from './file-requests.ts';

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
export class SourceUpdates {
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

/** Collects the lines that an edit writes for users, up to a limit. */
class Lines extends Writable {
  text = '';

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.text = (this.text + chunk.toString()).slice(0, LONGEST_LINES);
    done();
  }
}
