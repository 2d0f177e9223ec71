import { messageOf } from '@weir/base';
import type { Logger } from '@weir/base/log';
import { type Clock, type Timer, Turns } from '@weir/io/time';
import type { UnauthenticatedClients } from '@weir/proxy/accept';
import type { InboundRuntime } from '@weir/proxy/engine';
import { accountsOf } from '@weir/proxy/protocols';
import type { Tracker } from '@weir/proxy/tracker';
import type { InboundListener } from './inbound-listener.ts';
import type { FreedListener } from './listener-exchange.ts';
import { ApplyError, type DrainStatus, drainText } from './reload-report.ts';
import { SessionInbound } from './inbound-listeners.ts';
import type { RunningInbound } from './stage.ts';

/** Live sessions, which `Supervisor.stop` ends. */
export interface LiveSide {
  /** Resolves when no session is left. */
  whenIdle(): Promise<void>;
  destroy(cause: Error): void;
}

/**
 * The draining inbounds, which were removed, moved or changed to another kind: sessions with connections of their own,
 * and listeners that stay open for the sessions that they own.
 */
export class DrainingInbounds {
  readonly #runtimes = new Set<InboundRuntime>();
  /** Tags of the former inbounds, by listener. */
  readonly #listeners = new Map<InboundListener, string>();

  get sides(): LiveSide[] {
    return [...this.#runtimes, ...this.listeners];
  }

  /** Number of live sessions. */
  get sessions(): number {
    let sessions = 0;
    for (const runtime of this.#runtimes) sessions += runtime.sessions;
    for (const listener of this.#listeners.keys()) sessions += listener.tied;
    return sessions;
  }

  /** Listeners that own their sessions, and are open until the last one ends. */
  get listeners(): SessionInbound[] {
    return [...this.#listeners.keys()].filter((listener) => listener instanceof SessionInbound);
  }

  /** The open listeners, in the form of a `ListenerExchange`. */
  get freed(): FreedListener[] {
    return Array.from(this.#listeners, ([listener, tag]) => ({ tag, listener, draining: true }));
  }

  /** Keeps a runtime until its last session has ended. */
  awaitSessions(runtime: InboundRuntime): void {
    if (runtime.sessions === 0) return;
    this.#runtimes.add(runtime);
    void runtime.whenIdle().then(() => this.#runtimes.delete(runtime));
  }

  /** Keeps a retired listener until it has closed. */
  drain(tag: string, listener: InboundListener): void {
    if (this.#listeners.has(listener)) return;
    this.#listeners.set(listener, tag);
    void listener.closed.then(() => this.#listeners.delete(listener));
  }

  /** Called when an inbound has taken over a listener. */
  release(listener: InboundListener): void {
    this.#listeners.delete(listener);
  }
}

interface DrainDeps {
  readonly clock: Clock;
  readonly log: Logger;
  readonly tracker: Tracker;
  readonly departures: DrainingInbounds;
  readonly unauthenticated: Pick<UnauthenticatedClients, 'count'>;
  /** Called when listeners were closed, and when they were opened again. */
  readonly changed: () => void;
  /** Returns the served inbounds; no reload changes them during a drain. */
  readonly inbounds: () => ReadonlyMap<string, RunningInbound>;
}

/** Milliseconds between two checks of the remaining sessions. */
const LOOK_MS = 250;
/** Checks after which sessions without a flow are again asked to end. */
const LOOKS_A_SWEEP = 40;
/** Checks between two log lines: a minute. */
const LOOKS_A_LINE = 240;

/**
 * Stops accepting clients while the process continues: flows continue, including new ones of sessions that have others,
 * and a session ends with its last flow, so that its client reconnects to the process that accepts by then. The port of
 * datagrams stays bound until its last association or session has ended.
 *
 * Devices are still served: no other process can open them meanwhile, and refusing flows of this host's programs would
 * disconnect them.
 */
export class Drain {
  readonly #deps: DrainDeps;
  #since: number | undefined;
  #timer: Timer | undefined;
  #looks = 0;
  #waitsForDevices = false;
  #over: PromiseWithResolvers<void> | undefined;

  constructor(deps: DrainDeps) {
    this.#deps = deps;
  }

  /** Time at which the drain began, in Unix milliseconds; `undefined` while clients are accepted. */
  get since(): number | undefined {
    return this.#since;
  }

  get remains(): DrainStatus {
    const { tracker, departures, unauthenticated } = this.#deps;
    let sessions = departures.sessions;
    const devices = new Set<string>();
    for (const [tag, inbound] of this.#deps.inbounds()) {
      if (inbound.kind === 'carriers') sessions += inbound.runtime.sessions;
      else if (isDevice(inbound)) devices.add(tag);
      else sessions += inbound.listener.tied;
    }
    const deviceFlows =
      devices.size === 0
        ? 0
        : tracker.flows().filter(({ info }) => devices.has(info.inbound)).length;
    const flows = tracker.flowCount - deviceFlows;
    return { flows, sessions, handshakes: unauthenticated.count, deviceFlows };
  }

  /**
   * Refuses a reload, which would bind listeners: `takeBack` opens those that were closed.
   * @throws {ApplyError} `draining` during a drain
   */
  refuseChanges(): void {
    if (this.#since === undefined) return;
    throw new ApplyError(
      'draining',
      'the proxy is draining and keeps its configuration; `weir drain --undo` has it accept clients again',
    );
  }

  /**
   * Begins the drain. Idempotent. Resolves when no listener accepts.
   * @param forStop whether flows of devices are waited for as well: they end with the process
   */
  async begin(forStop = false): Promise<void> {
    if (forStop) this.#waitsForDevices = true;
    if (this.#since !== undefined) {
      if (forStop && !this.#timer) this.#lookAgain();
      return;
    }
    this.#since = this.#deps.clock.wall();
    this.#over = Promise.withResolvers();
    await Promise.all(this.#drained.map(([, inbound]) => close(inbound)));
    this.#deps.changed();
    await this.#endIdle();
    this.#look();
  }

  /**
   * Makes the listeners accept again, all or none.
   * @throws {ApplyError} `bind` when one cannot be bound: the drain continues
   */
  async takeBack(): Promise<void> {
    if (this.#since === undefined) return;
    const reopened: RunningInbound[] = [];
    for (const [tag, inbound] of this.#drained) {
      try {
        await reopen(inbound);
        reopened.push(inbound);
      } catch (error) {
        await Promise.all(reopened.map(close));
        // Some may have accepted clients after the drain was complete.
        if (reopened.length > 0 && !this.#timer) this.#lookAgain();
        throw new ApplyError('bind', `inbound ${tag}: ${messageOf(error)}`, { cause: error });
      }
    }
    this.end();
    this.#since = undefined;
    this.#deps.changed();
  }

  /** Stops checking: the drain was taken back, or the process stops. */
  end(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#over?.resolve();
  }

  /** Resolves when no session remains, or the drain has ended otherwise. */
  get over(): Promise<void> {
    return this.#over?.promise ?? Promise.resolve();
  }

  get #drained(): readonly (readonly [string, RunningInbound])[] {
    return [...this.#deps.inbounds()].filter(([, inbound]) => !isDevice(inbound));
  }

  /** Starts checking again after the drain was complete. */
  #lookAgain(): void {
    this.#over = Promise.withResolvers();
    this.#look();
  }

  #look(): void {
    this.#timer = this.#deps.clock.after(LOOK_MS, () => {
      this.#timer = undefined;
      const { remains } = this;
      const { flows, sessions, handshakes, deviceFlows } = remains;
      const waitedFor = this.#waitsForDevices ? deviceFlows : 0;
      if (flows + sessions + handshakes + waitedFor === 0) {
        this.end();
        return;
      }
      this.#look();
      this.#looks++;
      if (this.#looks % LOOKS_A_SWEEP === 0) void this.#endIdle();
      if (this.#looks % LOOKS_A_LINE === 0) {
        this.#deps.log.info(`draining: ${drainText(remains)}`);
      }
    });
  }

  /** Ends sessions without a flow. */
  async #endIdle(): Promise<void> {
    const turns = new Turns(this.#deps.clock);
    const onFailure = (error: unknown): void => {
      this.#deps.log.error(`a session without a flow goes on: ${messageOf(error)}`);
    };
    for (const [, inbound] of this.#drained) {
      await accountsOf(memoryOf(inbound)).endIdle(turns, onFailure);
    }
  }
}

const isDevice = ({ listener }: RunningInbound): boolean => listener.means === 'device';

const memoryOf = (inbound: RunningInbound) =>
  inbound.kind === 'carriers' ? inbound.runtime.memory : inbound.memory;

async function close(inbound: RunningInbound): Promise<void> {
  accountsOf(memoryOf(inbound)).draining = true;
  if (inbound.kind === 'sessions') {
    await inbound.listener.retire();
    return;
  }
  await inbound.listener.drain();
  inbound.acceptor.close();
}

async function reopen(inbound: RunningInbound): Promise<void> {
  if (inbound.kind === 'sessions') {
    await inbound.listener.resume();
  } else {
    // Before the listener accepts: a connection that carries several flows would have them refused.
    inbound.acceptor.open();
    try {
      await inbound.listener.reopen();
    } catch (error) {
      inbound.acceptor.close();
      throw error;
    }
  }
  accountsOf(memoryOf(inbound)).draining = false;
}
