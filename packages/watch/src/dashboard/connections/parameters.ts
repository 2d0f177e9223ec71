import { ActionError, Parameters } from '../parameters.ts';
import type { JsonValue } from '../shared/protocol.ts';
import type { ConnectionsParameters } from './view.ts';
import { GROUP_KEYS, SORT_KEYS } from '../shared/connection-keys.ts';

const MAX_OPEN_GROUPS = 50;
const MAX_GROUP_NAME = 1024;
const MAX_FREEZE = 64;

const NO_GROUP = 'none';

/** The parameters of `connections`, checked. @throws {ActionError} */
export function readConnectionsParameters(value: JsonValue): Required<ConnectionsParameters> {
  const parameters = new Parameters(value);
  return {
    filter: parameters.text('filter', ''),
    sort: parameters.choice('sort', SORT_KEYS, 'age'),
    descending: parameters.flag('descending'),
    group: parameters.choice('group', [NO_GROUP, ...GROUP_KEYS], NO_GROUP),
    open: namesOf(value),
    ...parameters.window(),
    freeze: parameters.text('freeze', '').slice(0, MAX_FREEZE),
  };
}

/** The one field of `{ id }`. @throws {ActionError} */
export function readId(value: JsonValue): number {
  const id = new Parameters(value).count('id', Number.MAX_SAFE_INTEGER);
  if (id === undefined) throw new ActionError('bad-request', 'the parameter "id" is missing');
  return id;
}

/** The flows to close: one, or those that match a filter. @throws {ActionError} */
export function readClosing(
  value: JsonValue,
): { readonly id: number } | { readonly filter: string } {
  const id = new Parameters(value).count('id', Number.MAX_SAFE_INTEGER);
  return id === undefined ? { filter: new Parameters(value).text('filter') } : { id };
}

/** The group names of the parameter `open`. */
function namesOf(value: JsonValue): readonly string[] {
  const names = typeof value === 'object' && value !== null && 'open' in value ? value.open : [];
  const isValid =
    Array.isArray(names) &&
    names.length <= MAX_OPEN_GROUPS &&
    names.every((name) => typeof name === 'string' && name.length <= MAX_GROUP_NAME);
  if (!isValid) throw new ActionError('bad-request', 'the parameter "open" is invalid');
  return names.map(String);
}
