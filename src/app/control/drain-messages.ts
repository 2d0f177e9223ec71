import type { ReloadOutcome } from '../outcomes.ts';

/** The operand of `drain` on the control socket. */
export type DrainAction = 'begin' | 'undo' | 'show';

const ACTIONS: readonly DrainAction[] = ['begin', 'undo', 'show'];

/** The response to `drain`: whether the process drains, and what is left of its clients. */
export interface DrainStatus {
  readonly kind: 'drain';
  /** Unix milliseconds of its begin; `null` while clients are accepted. */
  readonly since: number | null;
  readonly flows: number;
  readonly sessions: number;
  /** Clients that have not authenticated. */
  readonly handshakes: number;
  /** Flows of devices, which go on until the stop. */
  readonly device_flows: number;
}

/** The same in `status`; `null` there while clients are accepted. */
export type RunningDrain = Omit<DrainStatus, 'kind' | 'since'> & { readonly since: number };

/** A drain that could not be begun or taken back. */
export type DrainFailed = Extract<ReloadOutcome, { readonly kind: 'failed' }>;

/** @param text what followed the word. `undefined` for anything but an action. */
export const toDrainAction = (text: string): DrainAction | undefined =>
  ACTIONS.find((action) => action === text);

/** @param parsed any JSON. `undefined` for anything but a status. */
export function toDrainStatus(parsed: unknown): DrainStatus | undefined {
  if (typeof parsed !== 'object' || parsed === null) return undefined;
  const { kind, since, flows, sessions, handshakes, device_flows } = parsed as Readonly<
    Record<string, unknown>
  >;
  if (kind !== 'drain' || (since !== null && typeof since !== 'number')) return undefined;
  if (typeof flows !== 'number' || typeof sessions !== 'number') return undefined;
  if (typeof handshakes !== 'number' || typeof device_flows !== 'number') return undefined;
  return { kind, since, flows, sessions, handshakes, device_flows };
}
