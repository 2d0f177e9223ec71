import { requestUserFlows } from '../app/control/control-client.ts';
import type { EditApplied } from '../client/apply-edit.ts';
import type { WrittenUser } from '../config/edit/users/edit-users.ts';

/** The user who owns the flows; flows without a label can be found only after the account was removed. */
export type FlowsOwner = Pick<WrittenUser, 'inbound' | 'label'>;

/**
 * Counts the open flows of a user of the Weir at `socket`.
 * @returns `undefined` for a user without a label
 * @throws {WeirError} when the process does not respond
 */
export async function countAccountFlows(
  socket: string,
  { inbound, label }: FlowsOwner,
): Promise<number | undefined> {
  if (label === undefined) return undefined;
  return requestUserFlows(socket, { inbound, user: label, removed: false, close: false });
}

/**
 * Closes the flows of an account that an edit has removed or given another secret. They are found by the validity of
 * their account: labels may be missing, and then these are the flows of all removed accounts of the inbound.
 *
 * @param closing called with their number before they are closed
 * @returns how many were closed; `undefined` when the edit is in force in no running Weir
 * @throws {WeirError} when the process does not respond
 */
export async function closeAccountFlows(
  applied: EditApplied | undefined,
  { inbound, label }: FlowsOwner,
  closing?: (count: number) => void,
): Promise<number | undefined> {
  if (applied?.kind !== 'reloaded') return undefined;
  const { socket } = applied.serving;
  const flows = { inbound, user: label, removed: true };
  closing?.(await requestUserFlows(socket, { ...flows, close: false }));
  return requestUserFlows(socket, { ...flows, close: true });
}
