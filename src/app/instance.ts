import type { Logger } from '../log/logger.ts';
import { systemClock } from '../net/clock.ts';
import type { Spec } from '../spec.ts';
import { Supervisor } from '../supervisor/supervisor.ts';

/** One running proxy: from a configuration to its resources, and their orderly end. */
export class Instance {
  readonly supervisor: Supervisor;
  readonly #log: Logger;

  constructor(log: Logger) {
    this.#log = log.target('svc_app::instance');
    this.supervisor = new Supervisor({ clock: systemClock, log });
  }

  /** Builds, binds and serves. @throws {WeirError} when a listener cannot be bound. */
  async start(spec: Spec): Promise<void> {
    await this.supervisor.apply({ spec, geo: { geosite: new Map(), geoip: new Map() } });
    if (spec.inbounds.length === 0) {
      this.#log.warn('the configuration has no inbound: no connection will be accepted');
    }
  }

  /** Stops listening, lets live connections go on for `graceMs`, then ends them. */
  async stop(graceMs: number): Promise<void> {
    await this.supervisor.stop(graceMs);
  }
}
