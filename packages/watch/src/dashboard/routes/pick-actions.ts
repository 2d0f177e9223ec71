import { ApiClientError, closeFlows, flowsLeft, putPick, type RoutePick } from '@weir/client/api';
import { DEFAULT_GROUP } from '@weir/config';
import type { RouteView } from '@weir/config/route-view';
import { messageOf, WeirError } from '@weir/base';
import { quoted } from '@weir/base/printable';
import type { AppliedReport } from '@weir/server/supervisor/reload-report';
import { ActionError, jsonOf, Parameters } from '../parameters.ts';
import { type ConfigState, restoreFile } from '../config/config-state.ts';
import { refusedByApi, refusedHere } from '../config/describe-refusal.ts';
import type { RefusalView } from '../config/view.ts';
import type { DashboardContext, PageAction } from '../contract.ts';
import { conflictOf, NO_SOCKET, NOT_HERE, previewPick } from './preview-pick.ts';
import { routeIn, type PickState, type WantedPick, type WrittenPick } from './pick-state.ts';
import type { RoutePickResult, UndoResult } from './view.ts';

/** The actions of the page Routes: picks with a preview, and undoing a pick that could not be loaded. */
export class PickActions {
  readonly #context: DashboardContext;
  readonly #state: ConfigState;
  readonly #picks: PickState;

  constructor(context: DashboardContext, state: ConfigState, picks: PickState) {
    this.#context = context;
    this.#state = state;
    this.#picks = picks;
  }

  get actions(): readonly PageAction[] {
    const [context, state, picks] = [this.#context, this.#state, this.#picks];
    return [
      {
        name: 'route-preview',
        changes: false,
        run: async (parameters) =>
          jsonOf(await previewPick(context, state, picks, toPick(new Parameters(parameters)))),
      },
      {
        name: 'route-pick',
        changes: true,
        run: async (parameters) => {
          const wanted = new Parameters(parameters);
          const [etag, close] = [wanted.text('etag'), wanted.flag('close')];
          return jsonOf(await this.#pick(toPick(wanted), etag, close));
        },
      },
      {
        name: 'route-undo',
        changes: true,
        run: async (parameters) =>
          jsonOf(await this.#undo(new Parameters(parameters).text('etag'))),
      },
    ];
  }

  async #pick(wanted: WantedPick, etag: string, close: boolean): Promise<RoutePickResult> {
    const { group, target } = wanted;
    const seen = this.#picks.seen(etag);
    const before = (seen && routeIn(seen, group)) ?? { pick: null, target: null };
    const result =
      target === null
        ? await this.#remove(group, etag, before.pick)
        : await this.#write({ group, target }, etag, before.pick);
    switch (result.kind) {
      case 'conflict':
        return conflictOf(this.#context.api, wanted, seen, this.#picks);
      case 'done': {
        const { report } = result;
        if (!close) return { kind: 'done', report, closed: null, unclosed: null };
        return { kind: 'done', report, ...(await this.#close(group, before.target)) };
      }
      case 'refused':
        return result;
      case 'written':
        this.#picks.written = result.pick;
        return {
          kind: 'written',
          refusal: result.pick.refusal,
          undo: this.#picks.undoOf(result.pick),
        };
      default:
        return result satisfies never;
    }
  }

  /** Sets a pick through the API. */
  async #write(pick: RoutePick, etag: string, before: string | null): Promise<PickOutcome> {
    const { api, now } = this.#context;
    const { watched } = this.#state;
    await watched.look();
    const own = this.#state.history.begin(`pick ${quoted(pick.group)} → ${quoted(pick.target)}`);
    const version = watched.disk?.kind === 'read' ? watched.disk.version : undefined;
    try {
      const { report, etag: written } = await putPick(api, pick, etag);
      this.#picks.written = undefined;
      await this.#state.reloaded(own, report, written);
      return { kind: 'done', report: report.status === 'applied' ? report : null };
    } catch (error) {
      if (!isRefusal(error)) throw await this.#unconfirmed(error, etag);
      if (error.status === 409) return { kind: 'conflict' };
      if (error.etag === undefined) {
        return {
          kind: 'refused',
          refusal: await this.#state.describe(refusedByApi(now(), error), pick),
        };
      }
      const refusal = await this.#state.failed(own, error);
      if (error.etag === etag) return { kind: 'refused', refusal };
      const fileBefore = version?.etag === etag ? version.bytes : undefined;
      return { kind: 'written', pick: { ...pick, before, etag: error.etag, fileBefore, refusal } };
    }
  }

  /** The error for a pick that was sent and not confirmed; it tells whether the file is unchanged. */
  async #unconfirmed(error: unknown, etag: string): Promise<unknown> {
    if (!(error instanceof ApiClientError) || error.status !== undefined) return error;
    const { watched } = this.#state;
    await watched.look();
    if (watched.disk?.kind !== 'read') return error;
    const file =
      watched.disk.version.etag === etag
        ? 'the file is as it was'
        : 'the file has changed, so it may be written: look at it before the next pick';
    return new ActionError('unconfirmed', `${error.message}; ${file}`, { cause: error });
  }

  /** Removes a pick from the file, and reloads. */
  async #remove(group: string, etag: string, before: string | null): Promise<PickOutcome> {
    const { files, ofFile } = this.#state;
    if (!ofFile) throw NOT_HERE();
    const done = await files.ask('unpick', { ...ofFile, group, etag });
    switch (done.kind) {
      case 'stale':
        return { kind: 'conflict' };
      case 'invalid': {
        const refused = refusedHere(this.#context.now(), done.error);
        return { kind: 'refused', refusal: { ...refused, lines: done.lines } };
      }
      case 'written': {
        const result = await this.#state.loadWritten(`remove the pick of ${quoted(group)}`);
        if (result.kind === 'refused') {
          const { before: fileBefore, etag: written } = done;
          const pick = { group, target: null, before, etag: written, fileBefore };
          return { kind: 'written', pick: { ...pick, refusal: result.refusal } };
        }
        this.#picks.written = undefined;
        return { kind: 'done', report: result.kind === 'applied' ? result.report : null };
      }
      default:
        return done satisfies never;
    }
  }

  /** Closes the flows that are open on the old target, once new flows use the new one. */
  async #close(
    group: string,
    from: string | null,
  ): Promise<{ readonly closed: number | null; readonly unclosed: string | null }> {
    const { api, socket } = this.#context;
    if (from === null) return { closed: 0, unclosed: null };
    if (socket === undefined) return { closed: null, unclosed: NO_SOCKET };
    try {
      const { body } = await api.askTagged('GET', '/v1/routes');
      const to = routeIn(body as RouteView, group)?.target ?? from;
      if (to === from) return { closed: 0, unclosed: null };
      const change = { group: group === DEFAULT_GROUP ? undefined : group, from, to };
      const flows = await flowsLeft(api, socket, change);
      return { closed: await closeFlows(api, flows), unclosed: null };
    } catch (error) {
      if (!(error instanceof WeirError)) throw error;
      return { closed: null, unclosed: messageOf(error) };
    }
  }

  /**
   * Restores the pick before a written one, unless another writer has changed the file since.
   *
   * @param etag of the pick that the page shows
   */
  async #undo(etag: string): Promise<UndoResult> {
    const { written } = this.#picks;
    if (written?.etag !== etag) {
      return { kind: 'conflict', message: 'There is nothing to undo any more.' };
    }
    const { group, before, fileBefore } = written;
    const by = `undo the pick of ${quoted(group)}`;
    const { path } = this.#state.watched;
    if (fileBefore && path !== undefined) {
      const conflict = await restoreFile(path, { from: etag, bytes: fileBefore });
      if (conflict !== undefined) return this.#undoConflict(conflict);
      this.#picks.written = undefined;
      const result = await this.#state.loadWritten(by);
      if (result.kind === 'refused') return result; // because of another part of the files
      return { kind: 'done', report: result.kind === 'applied' ? result.report : null };
    }
    if (before === null) return { kind: 'conflict', message: 'The pick cannot be removed here.' };
    const own = this.#state.history.begin(by);
    try {
      const { report, etag: now } = await putPick(
        this.#context.api,
        { group, target: before },
        etag,
      );
      this.#picks.written = undefined;
      await this.#state.reloaded(own, report, now);
      return { kind: 'done', report: report.status === 'applied' ? report : null };
    } catch (error) {
      if (!isRefusal(error)) throw error;
      if (error.status === 409) return this.#undoConflict(error.message);
      if (error.etag === undefined) throw error;
      // The previous pick is restored; the refusal is about another part of the files.
      this.#picks.written = undefined;
      return { kind: 'refused', refusal: await this.#state.failed(own, error) };
    }
  }

  async #undoConflict(message: string): Promise<UndoResult> {
    await this.#context.monitor.refresh();
    await this.#state.watched.look();
    return { kind: 'conflict', message };
  }
}

/** The outcome of changing one pick. */
type PickOutcome =
  | { readonly kind: 'done'; readonly report: AppliedReport | null }
  | { readonly kind: 'conflict' }
  | { readonly kind: 'refused'; readonly refusal: RefusalView }
  | { readonly kind: 'written'; readonly pick: WrittenPick };

/** @throws {ActionError} */
function toPick(parameters: Parameters): WantedPick {
  const group = parameters.text('group');
  return { group, target: parameters.flag('inherit') ? null : parameters.text('target') };
}

/** Whether the API has replied that it did not, or not completely, apply the request. */
const isRefusal = (error: unknown): error is ApiClientError =>
  error instanceof ApiClientError &&
  (error.status === 409 || error.status === 422 || error.status === 500);
