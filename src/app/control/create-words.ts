import { failedOutcome, outcomeOf } from '../outcomes.ts';
import type { ControlWords } from './control-socket.ts';
import type { ControlTunnels } from './control-tunnels.ts';
import type { LogFollowers } from './log-followers.ts';
import type { ProfileRecorder } from './profile-recorder.ts';
import type { ControlledProcess, EndedReload, StatusReporter } from './status-reporter.ts';

/**
 * Creates the request handlers of the control socket. The modules for `status`, `connect`, `log` and `profile` are
 * imported with the first such request: most processes never receive one.
 */
export function createWords(process: ControlledProcess): ControlWords {
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
      setFilter(text);
      log.info(`log filter: ${text}, until the next start`);
    },
    status: async () =>
      (await (reporter ??= loadReporter())).report({
        lastReload,
        reloads: { ...counts, last_applied_at: lastApplied },
        followedLost: followers?.lost ?? 0,
      }),
    drain: async (action) => {
      const { answerDrain } = await import('./answer-drain.ts');
      return answerDrain(action, instance);
    },
    userFlows: async (request) => {
      const { answerUserFlows } = await import('./user-flows.ts');
      return answerUserFlows(request, { instance, log });
    },
    log: async (request, client) => {
      const module = await import('./log-followers.ts');
      (followers ??= new module.LogFollowers(recent)).serve(request, client);
    },
    profile: async (request, client) => {
      const module = await import('./profile-recorder.ts');
      await (recorder ??= new module.ProfileRecorder(() => instance.tracker.flowCount)).serve(
        request,
        client,
      );
    },
    loadedFiles: async () => (await import('./loaded-files.ts')).answerLoadedFiles(instance),
    connect: async (request, client) => {
      try {
        await (await (tunnels ??= loadTunnels())).serve(request, client);
      } catch {
        client.destroy();
      }
    },
  };
}
