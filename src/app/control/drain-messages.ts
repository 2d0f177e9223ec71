import type { ReloadOutcome } from '../outcomes.ts';

/** The operand of `drain` on the control socket. */
export type DrainAction = 'begin' | 'undo' | 'show';

const ACTIONS: readonly DrainAction[] = ['begin', 'undo', 'show'];

/** The response to `drain`: whether the process drains, and how many clients are left. */
export interface DrainStatus {
  readonly kind: 'drain';
  /** When the drain began, in Unix milliseconds; `null` while clients are accepted. */
  readonly since: number | null;
  readonly flows: number;
  readonly sessions: number;
  /** Number of clients that have not authenticated. */
  readonly handshakes: number;
  /** Number of flows of devices, which continue until the stop. */
  readonly device_flows: number;
}

/** The drain in the response to `status`, where it is `null` while clients are accepted. */
export type RunningDrain = Omit<DrainStatus, 'kind' | 'since'> & { readonly since: number };

/** A drain that could not be begun or undone. */
export type DrainFailed = Extract<ReloadOutcome, { readonly kind: 'failed' }>;

/** Parses an action; `undefined` for any other text. @param text the rest of the request line */
export const toDrainAction = (text: string): DrainAction | undefined =>
  ACTIONS.find((action) => action === text);

/** Parses the response to `drain`; `undefined` for any other value. @param parsed any JSON */
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
