import { messageOf } from '@weir/base';
import type { Logger } from '@weir/base/log';
import type { Turns } from '@weir/io/time';
import type { ListenSpec } from '@weir/proxy/spec';
import { isInUse } from '@weir/proxy/listeners';
import { ApplyError } from './reload-report.ts';
import {
  shareNetwork,
  type InboundListener,
  type ReopenableListener,
  type ListenMeans,
} from './inbound-listener.ts';

/** A listener that an inbound needs: newly bound, or taken over from an inbound that no longer needs it. */
export interface DesiredListener {
  readonly tag: string;
  readonly spec: ListenSpec;
  readonly means: ListenMeans;
  /**
   * The reason why the inbound's current listener has to be closed before this one is bound; `undefined` when it stays
   * open until the commit.
   */
  readonly restartReason: string | undefined;
  /**
   * Binds the listener.
   *
   * @throws {BindError}
   * @throws the reason of `signal`
   */
  bind(signal: AbortSignal): Promise<InboundListener>;
  /**
   * Claims `listener`: a draining one is kept open until the returned function or `retire` is called. That
   * function attaches the inbound to it. Returns `undefined`, without a claim, if the listener does not fit.
   */
  takeOver(listener: InboundListener): (() => void) | undefined;
}

/** A listener that its inbound no longer needs once the reload has succeeded. */
export interface FreedListener {
  /** Tag of its current or former inbound. */
  readonly tag: string;
  readonly listener: InboundListener;
  /** Whether an earlier reload has retired the listener, which is open only for its live sessions. */
  readonly draining: boolean;
}

/** The listeners after a reload. */
interface Exchanged {
  /** New and taken over listeners, by the tags of their inbounds. */
  readonly listeners: ReadonlyMap<string, InboundListener>;
  /** Freed listeners that were not taken over. */
  readonly retired: readonly FreedListener[];
}

interface TakenOver {
  readonly freed: FreedListener;
  readonly take: () => void;
}

/**
 * The listeners of one reload: bound before any running resource is changed, and closed again when the reload fails.
 *
 * An address that moves from one inbound to another keeps its socket, so that no client finds the port closed. An old
 * listener is closed before the commit only if its address conflicts with a new one (`0.0.0.0` after `127.0.0.1`,
 * same port) or its inbound has to be restarted; it is bound again if the reload fails. The same applies to a listener
 * of the API that releases its address. A listener whose live sessions would end with it is never closed: the reload is
 * refused. Devices conflict by their names and routes, which only the kernel can compare.
 */
export class ListenerExchange {
  readonly #log: Logger;
  readonly #freed: Set<FreedListener>;
  readonly #bound = new Map<string, InboundListener>();
  readonly #takenOver = new Map<string, TakenOver>();
  /** Listeners of the API that move or are removed, and may be closed to make room. */
  readonly #apiListeners: Set<ReopenableListener>;
  /** Closed listeners, with the tags of the inbounds that they made room for. */
  readonly #closedEarly: (FreedListener & { readonly wanted: string })[] = [];
  readonly #closedApiListeners: ReopenableListener[] = [];

  constructor(
    freed: readonly FreedListener[],
    apiListeners: readonly ReopenableListener[],
    log: Logger,
  ) {
    this.#freed = new Set(freed);
    this.#apiListeners = new Set(apiListeners);
    this.#log = log;
  }

  /**
   * Binds the wanted listeners, in turns. The caller rolls back when this rejects.
   * @throws {ApplyError} `bind`, or `disruptive` when a listener with live sessions would have to be closed
   * @throws the reason of `signal`
   */
  async bind(wanted: readonly DesiredListener[], turns: Turns, signal: AbortSignal): Promise<void> {
    const crowded: DesiredListener[] = [];
    const restarted: DesiredListener[] = [];
    for (const want of wanted) {
      if (turns.due) await turns.next();
      if (want.restartReason !== undefined) {
        restarted.push(want);
        continue;
      }
      if (this.#takeOver(want)) continue;
      try {
        this.#bound.set(want.tag, await want.bind(signal));
      } catch (error) {
        signal.throwIfAborted();
        if (!isInUse(error) || !this.#canMakeRoomFor(want)) throw asApplyError(want.tag, error);
        crowded.push(want);
      }
    }
    // Last, when all other steps have succeeded: clients find the port closed meanwhile.
    // What needs UDP comes first: a listener that makes room for TCP alone keeps its UDP port.
    const late = [...crowded, ...restarted].toSorted(
      (one, other) =>
        Number(shareNetwork(other.means, 'udp')) - Number(shareNetwork(one.means, 'udp')),
    );
    for (const want of late) this.#refuseToEndSessions(want);
    for (const want of late) await this.#bindInPlaceOfOld(want, signal);
  }

  /**
   * Commits, in one turn of the event loop: serves new listeners, switches those taken over, and retires the others.
   */
  commit(): Exchanged {
    const listeners = new Map(this.#bound);
    for (const { tag, listener, wanted } of this.#closedEarly) {
      const other = listeners.get(wanted);
      const ended = other ? listener.replacedBy(other) : 0;
      if (ended === 0) continue;
      const end = ended === 1 ? '1 association ends' : `${ended} associations end`;
      this.#log.warn(`inbound ${tag}: inbound ${wanted} has taken its UDP port, so that ${end}`, {
        inbound: tag,
      });
    }
    for (const listener of this.#bound.values()) listener.serve();
    for (const [tag, { freed, take }] of this.#takenOver) {
      take();
      listeners.set(tag, freed.listener);
    }
    const retired = [...this.#freed, ...this.#closedEarly];
    for (const { listener } of retired) void listener.retire();
    return { listeners, retired };
  }

  /**
   * Rolls back after a failure: closes new listeners, and rebinds those that were closed to make room. An address that
   * cannot be rebound is logged.
   * @param restore false when the process is stopping, so that nothing is rebound
   */
  async rollBack(restore: boolean): Promise<void> {
    await Promise.all([...this.#bound.values()].map((listener) => listener.close()));
    this.#bound.clear();
    for (const { freed } of this.#takenOver.values()) {
      if (freed.draining) await freed.listener.retire();
    }
    this.#takenOver.clear();
    if (!restore) return;
    for (const listener of this.#closedApiListeners) await listener.reopen();
    for (const { tag, listener, draining } of this.#closedEarly) {
      try {
        await (draining ? listener.restore() : listener.reopen());
      } catch (error) {
        const reason = messageOf(error);
        this.#log.error(`inbound ${tag} could not be restored: ${reason}`, {
          inbound: tag,
          error: reason,
        });
      }
    }
    this.#closedEarly.length = 0;
  }

  #takeOver(want: DesiredListener): boolean {
    const { tag, spec } = want;
    // Two inbounds with port 0 want different ports.
    if ((spec.kind === 'ip' || spec.kind === 'name') && spec.port === 0) return false;
    for (const freed of this.#freed) {
      const take = want.takeOver(freed.listener);
      if (!take) continue;
      this.#freed.delete(freed);
      this.#takenOver.set(tag, { freed, take });
      return true;
    }
    return false;
  }

  /** Returns the freed listeners that have to be closed before `want` is bound. */
  #inTheWayOf({ tag, spec, means, restartReason }: DesiredListener): FreedListener[] {
    return [...this.#freed].filter(({ tag: holder, listener, draining }) => {
      if (restartReason !== undefined && holder === tag && !draining) return true;
      if (spec.kind === 'none' || !shareNetwork(listener.means, means)) return false;
      return listener.conflictsWith(spec);
    });
  }

  /** Returns the listeners of the API, which are TCP, that have to be closed before `want` is bound. */
  #apiListenersInTheWayOf({ spec, means }: DesiredListener): ReopenableListener[] {
    if (spec.kind === 'none' || !shareNetwork(means, 'tcp')) return [];
    return [...this.#apiListeners].filter((listener) => listener.conflictsWith(spec));
  }

  #canMakeRoomFor(want: DesiredListener): boolean {
    return (
      this.#inTheWayOf(want).length > 0 ||
      this.#apiListenersInTheWayOf(want).length > 0 ||
      this.#devicesBeside(want).length > 0
    );
  }

  /** Devices that may have the same name, or the same route, as the wanted one. */
  #devicesBeside({ means }: DesiredListener): FreedListener[] {
    if (means !== 'device') return [];
    return [...this.#freed].filter(({ listener }) => listener.means === 'device');
  }

  #refuseToEndSessions(want: DesiredListener): void {
    for (const freed of this.#inTheWayOf(want)) refuseToEndSessions(freed, want);
  }

  async #bindInPlaceOfOld(want: DesiredListener, signal: AbortSignal): Promise<void> {
    for (const freed of this.#inTheWayOf(want)) await this.#closeEarly(freed, want);
    for (const listener of this.#apiListenersInTheWayOf(want)) {
      this.#apiListeners.delete(listener);
      this.#closedApiListeners.push(listener);
      await listener.close();
    }
    try {
      this.#bound.set(want.tag, await this.#bindBesideDevices(want, signal));
    } catch (error) {
      signal.throwIfAborted();
      throw error instanceof ApplyError ? error : asApplyError(want.tag, error);
    }
  }

  /** Binds a device; if the name or a route is taken, closes other devices without live flows and retries. */
  async #bindBesideDevices(want: DesiredListener, signal: AbortSignal): Promise<InboundListener> {
    try {
      return await want.bind(signal);
    } catch (error) {
      signal.throwIfAborted();
      const beside = this.#devicesBeside(want);
      if (!isInUse(error) || beside.length === 0) throw error;
    }
    for (const freed of this.#devicesBeside(want)) {
      if (freed.listener.tied === 0) await this.#closeEarly(freed, want);
    }
    try {
      return await want.bind(signal);
    } catch (error) {
      signal.throwIfAborted();
      const [live] = this.#devicesBeside(want);
      if (isInUse(error) && live) refuseToEndSessions(live, want);
      throw error;
    }
  }

  async #closeEarly(freed: FreedListener, want: DesiredListener): Promise<void> {
    // A client may have connected since the plan was created, or while others were closed.
    refuseToEndSessions(freed, want);
    this.#freed.delete(freed);
    this.#closedEarly.push({ ...freed, wanted: want.tag });
    await freed.listener.makeRoom(want.means);
  }
}

/** Refuses to close a listener with live sessions. @throws {ApplyError} `disruptive` */
function refuseToEndSessions(
  { tag, listener }: FreedListener,
  { tag: wanted, restartReason }: DesiredListener,
): void {
  if (listener.tied === 0) return;
  const what = listener.means === 'device' ? 'the name or a route of its device' : 'its address';
  const overlap =
    tag === wanted
      ? 'its new address overlaps an earlier one'
      : `${what} is needed for inbound ${wanted}`;
  throw disruptive(tag, tag === wanted ? (restartReason ?? overlap) : overlap);
}

/**
 * Returns the error of a change that would end live sessions.
 *
 * @param reason precedes "which would end its live connections"
 */
export const disruptive = (tag: string, reason: string): ApplyError =>
  new ApplyError(
    'disruptive',
    `inbound ${tag}: ${reason}, which would end its live connections; restart to apply it`,
  );

const asApplyError = (tag: string, error: unknown): ApplyError =>
  new ApplyError('bind', `inbound ${tag}: ${messageOf(error)}`, { cause: error });
