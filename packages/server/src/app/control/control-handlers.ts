import type { Socket } from 'node:net';
import { messageOf } from '@weir/base';
import { failedOutcome, outcomeOf, type ReloadOutcome } from '../outcomes.ts';
import type { ControlTunnels } from './control-tunnels.ts';
import type { LogFollowers } from './log-followers.ts';
import type { ProfileRecorder } from './profile-recorder.ts';
import type { ControlledProcess, EndedReload, StatusReporter } from './status-reporter.ts';
import type { UsageReporter } from './usage-reporter.ts';

/** Maximum bytes of a line, and of the body of a request; a log filter may name several targets. */
export const MAX_REQUEST = 4096;

/** Milliseconds for a client to send its request, and to read a response. */
export const REQUEST_MS = 5_000;

/** Takes the end of stream of a client as its leaving: the close of a unix socket looks the same. */
export function leaving(client: Socket): AbortSignal {
  const gone = new AbortController();
  client.once('end', () => client.destroy()).once('close', () => gone.abort());
  client.resume();
  return gone.signal;
}

/** The handlers of the control socket. Requests are JSON that has been parsed; results are values for JSON. */
export interface ControlHandlers {
  /** Never rejects. @param cause valid: see `problemOfCause` */
  readonly reload: (cause: string | undefined) => Promise<ReloadOutcome>;
  /** @throws for a defect */
  readonly setLogFilter: (text: string) => ReloadOutcome;
  readonly status: () => Promise<unknown>;
  readonly drain: (action: string) => Promise<unknown>;
  readonly userFlows: (request: unknown) => Promise<unknown>;
  /** Writes lines to a client until it disconnects. Rejects for a defect, before anything is written. */
  readonly log: (request: unknown, client: Socket) => Promise<void>;
  /**
   * Writes lines to a client, and ends its connection. Rejects for a defect.
   * @param gone aborts when the client has disconnected
   */
  readonly usage: (request: unknown, client: Socket, gone: AbortSignal) => Promise<void>;
  /** Whether a client stays connected when the control socket closes, until `endUsage`. */
  readonly followsUsage: (client: Socket) => boolean;
  /** Sends clients that follow the usage a last report. Never rejects. */
  readonly endUsage: () => Promise<void>;
  /** @param gone aborts when the client has disconnected */
  readonly profile: (request: unknown, gone: AbortSignal) => Promise<unknown>;
  readonly limits: (request: unknown) => Promise<unknown>;
  readonly loadedFiles: () => Promise<unknown>;
  /** Takes over the client, whose socket is paused, with any further data unshifted. Never rejects. */
  readonly connect: (request: unknown, client: Socket) => Promise<void>;
}

/**
 * Creates the handlers of the control socket. The modules for all but reloads and the log filter are imported with the
 * first such request: most processes never receive one.
 */
export function createHandlers(process: ControlledProcess): ControlHandlers {
  const { instance, log, recent, setFilter } = process;
  let lastReload: EndedReload | undefined;
  const counts = { applied: 0, unchanged: 0, failed: 0 };
  let lastApplied: number | null = null;
  instance.onReload({
    ended(outcome, error) {
      const at = instance.clock.wall();
      lastReload = { at, outcome, error };
      counts[outcome.kind]++;
      if (outcome.kind === 'applied') lastApplied = at;
    },
  });
  let reporter: Promise<StatusReporter> | undefined;
  let tunnels: Promise<ControlTunnels> | undefined;
  let followers: LogFollowers | undefined;
  let recorder: ProfileRecorder | undefined;
  let usage: UsageReporter | undefined;
  const loadReporter = async (): Promise<StatusReporter> => {
    const module = await import('./status-reporter.ts');
    return new module.StatusReporter(process);
  };
  const loadTunnels = async (): Promise<ControlTunnels> => {
    const module = await import('./control-tunnels.ts');
    return new module.ControlTunnels(instance.tunnelDeps);
  };
  return {
    reload(cause) {
      if (cause !== undefined) log.target('svc_app::instance').info(`edited: ${cause}`);
      return instance.reload().then(outcomeOf, failedOutcome);
    },
    setLogFilter(text) {
      try {
        setFilter(text);
      } catch (error) {
        if (error instanceof RangeError) return { kind: 'failed', line: messageOf(error) };
        throw error;
      }
      log.info(`log filter: ${text}, until the next start`);
      return { kind: 'applied', summary: text };
    },
    status: async () =>
      (await (reporter ??= loadReporter())).report({
        lastReload,
        reloads: { ...counts, last_applied_at: lastApplied },
        followedLost: followers?.lost ?? 0,
      }),
    drain: async (action) => (await import('./status-reporter.ts')).answerDrain(action, instance),
    userFlows: async (request) => {
      const { answerUserFlows } = await import('./status-reporter.ts');
      return answerUserFlows(request, { instance, log });
    },
    limits: async (request) =>
      (await import('./limits-report.ts')).answerLimits(request, instance.limits),
    log: async (request, client) => {
      const module = await import('./log-followers.ts');
      (followers ??= new module.LogFollowers(recent)).serve(request, client);
    },
    usage: async (request, client, gone) => {
      const module = await import('./usage-reporter.ts');
      usage ??= new module.UsageReporter(instance.tracker, instance.clock);
      await usage.serve(request, client, gone);
    },
    followsUsage: (client) => usage?.isFollower(client) === true,
    endUsage: async () => usage?.end(),
    profile: async (request, gone) => {
      const module = await import('./profile-recorder.ts');
      recorder ??= new module.ProfileRecorder(() => instance.tracker.flowCount);
      return recorder.record(request, gone);
    },
    loadedFiles: async () => (await import('./status-reporter.ts')).answerLoadedFiles(instance),
    connect: async (request, client) => {
      try {
        await (await (tunnels ??= loadTunnels())).serve(request, client);
      } catch {
        client.destroy();
      }
    },
  };
}
