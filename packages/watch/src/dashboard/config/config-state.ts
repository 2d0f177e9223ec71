import { editConfigFile, EditError } from '@weir/server/edits';
import { etagOf } from '@weir/server/loading';
import type { LastReload } from '@weir/server/control';
import { outcomeLine } from '@weir/server/app/outcomes';
import { summaryOf } from '@weir/server/app/outcomes';
import type { ReloadReport } from '@weir/server/supervisor/reload-report';
import type { SeenReload, RefusalView, ReloadResult, RestoreView } from './view.ts';
import { Listeners } from '@weir/base/collections';
import { ApiClientError, type RoutePick } from '@weir/client/api';
import type { DashboardContext } from '../contract.ts';
import type { FileWorker, OfFile } from '../reader/file-requests.ts';
import { describeRefusal, refusedByApi, refusedReload, type Refused } from './describe-refusal.ts';
import { WatchedConfig } from './watched-config.ts';

/** Maximum number of reloads that are kept. */
const MOST = 50;
/** For this many milliseconds, Weir's status may repeat the outcome of an action of this process. */
const REPEATED_MS = 60_000;

/** A reload that this process is about to request. */
export interface OwnReload {
  /** The action that causes it, as the history shows it. */
  readonly by: string;
  /** The id of the first entry that may be this reload: its status can be read before its response has arrived. */
  readonly since: number;
}

/**
 * The reloads since the dashboard started, and the last one before. Of several between two reads of Weir's status only
 * the last is seen.
 */
export class ReloadHistory {
  readonly #entries: SeenReload[] = [];
  #next = 1;
  /** Entries of this process that Weir's status has not repeated yet, oldest first: it is read only now and then. */
  #expected: Pick<SeenReload, 'at' | 'outcome'>[] = [];
  #seenAt: number | undefined;

  /** The reloads, newest first. */
  get entries(): readonly SeenReload[] {
    return this.#entries;
  }

  /** To be called before this process requests a reload. @param by the action that causes it */
  begin(by: string): OwnReload {
    return { by, since: this.#next };
  }

  /** Adds the outcome of a reload that this process requested. @param failure why it failed */
  own(
    at: number,
    { by, since }: OwnReload,
    outcome: ReloadReport | { readonly failure: string },
  ): void {
    const failed = 'failure' in outcome;
    const report = !failed && outcome.status === 'applied' ? outcome : null;
    const view = {
      at,
      by,
      outcome: failed ? ('failed' as const) : outcome.status,
      text: failed ? outcome.failure : report ? summaryOf(report) : NOT_CHANGED,
      report,
    };
    const [last] = this.#entries;
    if (last?.by === null && last.id >= since && last.outcome === view.outcome) {
      this.#entries[0] = { ...view, id: last.id };
      return;
    }
    this.#expected.push(view);
    if (this.#expected.length > MOST) this.#expected.shift();
    this.#add(view);
  }

  /** Adds the last reload of Weir's status. @returns whether it is a new one */
  seen({ at, outcome }: LastReload): boolean {
    if (at === this.#seenAt) return false;
    this.#seenAt = at;
    this.#expected = this.#expected.filter((own) => Math.abs(at - own.at) < REPEATED_MS);
    const [nearest] = this.#expected
      .filter((own) => own.outcome === outcome.kind)
      .toSorted((one, other) => Math.abs(at - one.at) - Math.abs(at - other.at));
    if (nearest) {
      this.#expected.splice(0, this.#expected.indexOf(nearest) + 1);
      return true;
    }
    this.#add({
      at,
      by: null,
      outcome: outcome.kind,
      text: outcome.kind === 'applied' ? outcome.summary : outcomeLine(outcome),
      report: null,
    });
    return true;
  }

  #add(view: Omit<SeenReload, 'id'>): void {
    this.#entries.unshift({ id: this.#next++, ...view });
    if (this.#entries.length > MOST) this.#entries.pop();
  }
}

const NOT_CHANGED = outcomeLine({ kind: 'unchanged' });

/**
 * Shared state of the pages Config and Routes: the watched configuration, its reloads, and why the last one was
 * refused.
 */
export class ConfigState {
  readonly watched: WatchedConfig;
  readonly history = new ReloadHistory();
  readonly files: FileWorker;
  readonly #context: DashboardContext;
  readonly #listeners = new Listeners();
  #refusal: RefusalView | undefined;
  /** Number of outcomes so far: an asynchronous description of an older refusal does not overwrite a newer outcome. */
  #outcomes = 0;

  /** @param files reads and checks configurations in a thread, since both take long */
  constructor(context: DashboardContext, files: FileWorker) {
    this.#context = context;
    this.files = files;
    this.watched = new WatchedConfig(context);
    this.watched.onChange(() => this.#listeners.call());
    context.monitor.onChange(() => this.#follow());
  }

  /** Why the last reload was refused; `undefined` if it was not. */
  get refusal(): RefusalView | undefined {
    return this.#refusal;
  }

  /** Whether, and how, the last version that ran can be written back to the file. */
  get restore(): RestoreView {
    const { path, disk, loaded } = this.watched;
    if (path === undefined) {
      return impossible('the configuration file is not on this machine, or is not known here');
    }
    if (!loaded) return impossible('no version of the file that ran has been seen here');
    if (disk?.kind === 'unreadable') return impossible(`the file cannot be read: ${disk.reason}`);
    return disk?.version.etag === loaded.etag ? { kind: 'needless' } : { kind: 'possible' };
  }

  /**
   * The configuration file as parameters of a `FileWorker` request; `undefined` for the built-in one, or where it is
   * not known.
   */
  get ofFile(): (OfFile & { readonly path: string }) | undefined {
    const { path } = this.watched;
    return path === undefined
      ? undefined
      : { path, pid: this.#context.monitor.status?.value.pid ?? null };
  }

  onChange(listener: () => void): Disposable {
    return this.#listeners.add(listener);
  }

  /**
   * Reloads Weir.
   *
   * @param by label of the reload in the history
   * @throws {ApiClientError} when the outcome is not known
   */
  async reload(by: string): Promise<ReloadResult> {
    const { watched } = this;
    await watched.look();
    const own = this.history.begin(by);
    const before = watched.disk?.kind === 'read' ? watched.disk.version.etag : undefined;
    try {
      const report = (await this.#context.api.ask('POST', '/v1/reload')) as ReloadReport;
      await this.reloaded(own, report, before);
      return report.status === 'applied' ? { kind: 'applied', report } : { kind: 'unchanged' };
    } catch (error) {
      const isRefused =
        error instanceof ApiClientError && (error.status === 422 || error.status === 500);
      if (!isRefused) throw error;
      return { kind: 'refused', refusal: await this.failed(own, error) };
    }
  }

  /** Reloads after the file has been written; an unknown outcome is reported as a failure with that text. */
  async loadWritten(by: string): Promise<ReloadResult> {
    const own = this.history.begin(by);
    try {
      return await this.reload(by);
    } catch (error) {
      if (!(error instanceof ApiClientError)) throw error;
      const message = `The file is written, but whether it was loaded is not known: ${error.message}`;
      return { kind: 'refused', refusal: await this.failed(own, new ApiClientError(message)) };
    }
  }

  /** Records a successful reload that this dashboard requested. */
  async reloaded(own: OwnReload, report: ReloadReport, etag: string | undefined): Promise<void> {
    this.history.own(this.#context.now(), own, report);
    this.#outcomes++;
    this.#refusal = undefined;
    await this.watched.loadedIs(etag);
    await this.#refresh();
  }

  /** Records a reload that this dashboard requested and that was refused or failed. */
  async failed(own: OwnReload, error: ApiClientError): Promise<RefusalView> {
    const at = this.#context.now();
    this.history.own(at, own, { failure: error.message });
    const outcome = ++this.#outcomes;
    await this.watched.look();
    const refusal = await this.describe(refusedByApi(at, error));
    if (outcome === this.#outcomes) this.#refusal = refusal;
    // The status names the place, also of errors that a check here does not find.
    await this.#refresh();
    this.#listeners.call();
    return refusal;
  }

  /** @param pick the pick with which the configuration was checked, without being written */
  async describe(refused: Refused, pick: RoutePick | null = null): Promise<RefusalView> {
    const { files, ofFile } = this;
    if (!ofFile) return describeRefusal(refused, undefined, () => Promise.resolve([]));
    // Without a result from the thread, the refusal is shown without its lines.
    const found = await files.ask('check', { ...ofFile, pick }).catch(() => undefined);
    const own = found?.kind === 'invalid' ? found.error : undefined;
    return describeRefusal(refused, own, (place) =>
      files.ask('lines', { ...ofFile, pick, place }).catch(() => []),
    );
  }

  /**
   * Refreshes the monitor; an action that has succeeded stays successful even if the API does not respond afterwards.
   */
  async #refresh(): Promise<void> {
    try {
      await this.#context.monitor.refresh();
    } catch {
      // the monitor reports the failure of the API
    }
  }

  #follow(): void {
    const last = this.#context.monitor.status?.value.last_reload;
    if (!last || !this.history.seen(last)) return;
    const { at, outcome, place } = last;
    const seen = ++this.#outcomes;
    if (outcome.kind === 'failed') {
      const refused = refusedReload(at, outcomeLine(outcome), place);
      void this.describe(refused).then((refusal) => {
        if (seen !== this.#outcomes) return;
        this.#refusal = refusal;
        this.#listeners.call();
      });
    } else {
      this.#refusal = undefined;
    }
    this.#listeners.call();
  }
}

const impossible = (reason: string): RestoreView => ({ kind: 'impossible', reason });

/**
 * Writes an earlier version of a file back, if the file still has the entity tag `from`.
 *
 * @returns the reason when another writer came first and nothing was written
 * @throws {EditError} when it cannot be written
 */
export async function restoreFile(
  path: string,
  { from, bytes }: { readonly from: string; readonly bytes: Uint8Array },
): Promise<string | undefined> {
  try {
    await editConfigFile(
      path,
      (current) => {
        if (etagOf(current) === from) return bytes;
        throw new EditError('stale', `${path} has been changed meanwhile and was left alone`);
      },
      // This version has been loaded before; the reload reports whether the files that it refers to are still valid.
      { check: () => Promise.resolve() },
    );
    return undefined;
  } catch (error) {
    if (!(error instanceof EditError) || error.code !== 'stale') throw error;
    return error.message;
  }
}
