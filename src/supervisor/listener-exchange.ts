import { isDeepStrictEqual } from 'node:util';
import { messageOf } from '../errors.ts';
import type { Logger } from '../log/logger.ts';
import type { Turns } from '../net/turns.ts';
import type { ListenSpec } from '../spec.ts';
import { ApplyError } from './apply-error.ts';
import {
  isInUse,
  SwitchedListener,
  type BindOptions,
  type LeavingListener,
  type ListenerTarget,
} from './switched-listener.ts';

/** A listener that an inbound needs: bound anew, or taken over from an inbound that frees it. */
export interface WantedListener extends BindOptions {
  readonly tag: string;
}

/** A listener that an inbound frees when the reload succeeds. */
export interface FreedListener {
  readonly tag: string;
  readonly listener: SwitchedListener;
}

/**
 * The listeners of one reload: bound before anything that runs is touched, and closed again when the
 * reload fails.
 *
 * An address that moves from one inbound to another keeps its socket, so that no connection meets a
 * closed port. Where a new address overlaps an old one that is given up (`0.0.0.0` after
 * `127.0.0.1`, same port), the old one is closed first, and bound again should the new one fail.
 * So is a listener that is no inbound's and is about to leave its address.
 */
export class ListenerExchange {
  readonly #log: Logger;
  readonly #freed: Map<string, SwitchedListener>;
  readonly #bound = new Map<string, SwitchedListener>();
  readonly #takenOver = new Map<string, { listener: SwitchedListener; target: ListenerTarget }>();
  /** Listeners that are no inbound's, and that may be closed to make room. */
  readonly #leaving: Set<LeavingListener>;
  /** Closed to make room; by the tag that held them. */
  readonly #closedEarly = new Map<string, SwitchedListener>();
  readonly #leftEarly: LeavingListener[] = [];

  constructor(freed: readonly FreedListener[], leaving: readonly LeavingListener[], log: Logger) {
    this.#freed = new Map(freed.map(({ tag, listener }) => [tag, listener]));
    this.#leaving = new Set(leaving);
    this.#log = log;
  }

  /**
   * Binds what is wanted, in turns. The caller rolls back when this rejects.
   * @throws {ApplyError} `bind`
   * @throws the reason of `signal`
   */
  async bind(wanted: readonly WantedListener[], turns: Turns, signal: AbortSignal): Promise<void> {
    const crowded: WantedListener[] = [];
    for (const want of wanted) {
      if (turns.due) await turns.next();
      if (this.#takeOver(want)) continue;
      try {
        this.#bound.set(want.tag, await SwitchedListener.bind(want, signal));
      } catch (error) {
        signal.throwIfAborted();
        if (!isInUse(error) || !this.#canMakeRoomFor(want.spec)) {
          throw asApplyError(want.tag, error);
        }
        crowded.push(want);
      }
    }
    for (const want of crowded) await this.#bindInPlaceOfOld(want, signal);
  }

  /**
   * The reload succeeds, in one turn of the event loop: new listeners are served, those taken over
   * are switched, and those left over are closed.
   */
  commit(): ReadonlyMap<string, SwitchedListener> {
    const result = new Map(this.#bound);
    for (const listener of this.#bound.values()) listener.serve();
    for (const [tag, { listener, target }] of this.#takenOver) {
      listener.switchTo(target);
      result.set(tag, listener);
    }
    const left = [...this.#freed.values(), ...this.#closedEarly.values()];
    for (const listener of left) void listener.retire();
    return result;
  }

  /**
   * The reload has failed: closes what was bound, and binds again what had to make room. An address
   * that cannot be bound again is logged.
   *
   * @param restore false when the process stops: then nothing is bound again
   */
  async rollBack(restore: boolean): Promise<void> {
    await Promise.all([...this.#bound.values()].map((listener) => listener.close()));
    this.#bound.clear();
    if (!restore) return;
    for (const listener of this.#leftEarly) await listener.reopen();
    for (const [tag, listener] of this.#closedEarly) {
      try {
        await listener.reopen();
      } catch (error) {
        this.#log.error(`inbound ${tag} could not be restored: ${messageOf(error)}`);
      }
    }
    this.#closedEarly.clear();
  }

  #takeOver({ tag, spec, datagrams, target }: WantedListener): boolean {
    // Two inbounds that let the kernel choose a port do not want the same one.
    if (spec.kind !== 'unix' && spec.port === 0) return false;
    for (const [holder, listener] of this.#freed) {
      if (listener.datagrams !== datagrams || !isDeepStrictEqual(listener.spec, spec)) continue;
      this.#freed.delete(holder);
      this.#takenOver.set(tag, { listener, target });
      return true;
    }
    return false;
  }

  #inTheWayOf(spec: ListenSpec): [string, SwitchedListener][] {
    return [...this.#freed].filter(([, listener]) => listener.standsInTheWayOf(spec));
  }

  #canMakeRoomFor(spec: ListenSpec): boolean {
    return (
      this.#inTheWayOf(spec).length > 0 ||
      [...this.#leaving].some((listener) => listener.standsInTheWayOf(spec))
    );
  }

  async #bindInPlaceOfOld(want: WantedListener, signal: AbortSignal): Promise<void> {
    for (const [tag, listener] of this.#inTheWayOf(want.spec)) {
      this.#freed.delete(tag);
      this.#closedEarly.set(tag, listener);
      await listener.close();
    }
    for (const listener of this.#leaving) {
      if (!listener.standsInTheWayOf(want.spec)) continue;
      this.#leaving.delete(listener);
      this.#leftEarly.push(listener);
      await listener.close();
    }
    try {
      this.#bound.set(want.tag, await SwitchedListener.bind(want, signal));
    } catch (error) {
      signal.throwIfAborted();
      throw asApplyError(want.tag, error);
    }
  }
}

const asApplyError = (tag: string, error: unknown): ApplyError =>
  new ApplyError('bind', `inbound ${tag}: ${messageOf(error)}`, { cause: error });
