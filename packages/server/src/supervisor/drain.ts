import { messageOf } from '@weir/base';
import type { Logger } from '@weir/base/log';
import { type Clock, type Timer, Turns } from '@weir/io/time';
import { accountsOf } from '@weir/proxy/protocols';
import { age, counted } from '@weir/base/text/amounts';
import type { Tracker } from '@weir/proxy/tracker';
import type { UnauthenticatedClients } from '@weir/proxy/accept';
import { ApplyError } from './apply-error.ts';
import type { DrainingInbounds } from './draining-inbounds.ts';
import type { RunningInbound } from './stage.ts';

export interface DrainDeps {
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
  await inbound.listener.drain(inbound.runtime.drainDatagrams());
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
    inbound.runtime.acceptDatagrams();
  }
  accountsOf(memoryOf(inbound)).draining = false;
}

/** The sessions and flows that a drain waits for. */
export interface DrainStatus {
  /** Flows of sockets; those of devices continue until the process stops. */
  readonly flows: number;
  readonly sessions: number;
  /** Accepted clients that have not authenticated. */
  readonly handshakes: number;
  /** Flows of devices, which are not waited for. */
  readonly deviceFlows: number;
}

/** Returns the remaining sessions and flows as text, for users. */
export function drainText({ flows, sessions, handshakes, deviceFlows }: DrainStatus): string {
  const parts = [counted(flows, 'flow'), `in ${counted(sessions, 'session')}`];
  if (handshakes > 0) parts.push(`and ${counted(handshakes, 'client')} in a handshake`);
  const isNone = flows + sessions + handshakes === 0;
  const left = isNone ? 'nothing is left' : `${parts.join(' ')} left`;
  const device = `${counted(deviceFlows, 'flow')} of devices, which go on until the stop`;
  return deviceFlows === 0 ? left : `${left}; ${device}`;
}

/** Returns the log line of flows that a stop has ended. @param graceMs milliseconds for which they were waited for */
export const cutLine = (flows: number, graceMs: number): string =>
  `cut ${counted(flows, 'flow')} that ${flows === 1 ? 'was' : 'were'} still open${graceMs === 0 ? '' : ` after ${age(graceMs)}`}`;
