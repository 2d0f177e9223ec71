import type { LastReload } from '@weir/server/control';
import type { ApiClientError } from '@weir/client/api';
import type { FoundError } from '../reader/file-requests.ts';
import type { LineView, PlaceView, RefusalView } from './view.ts';

/** Maximum characters of a message. */
const MAX_MESSAGE = 4_000;

/** A refusal as reported by the API, by the control socket, or by a check of the same files here. */
export interface Refused {
  readonly at: number;
  readonly message: string;
  readonly place: PlaceView | null;
  readonly hints: readonly string[];
}

export const refusedReload = (at: number, line: string, place: LastReload['place']): Refused => ({
  at,
  message: line,
  place,
  hints: [],
});

export const refusedByApi = (at: number, error: ApiClientError): Refused => ({
  at,
  message: error.message,
  place: null,
  hints: [],
});

export const refusedHere = (at: number, error: FoundError): Refused => ({ at, ...error });

/**
 * The refusal with the lines around its place.
 *
 * @param own what a check of the same files has found here: it knows the place and hints, if it is the same error
 * @param linesAround of a place, values that may be secret starred
 */
export async function describeRefusal(
  { at, message, place: known, hints }: Refused,
  own: FoundError | undefined,
  linesAround: (place: PlaceView) => Promise<readonly LineView[]>,
): Promise<RefusalView> {
  const isSame = own !== undefined && message.includes(own.message);
  const place = known ?? (isSame ? own.place : null);
  return {
    at,
    message: message.length > MAX_MESSAGE ? `${message.slice(0, MAX_MESSAGE)}…` : message,
    place,
    lines: place ? await linesAround(place) : [],
    hints: [...new Set([...hints, ...(isSame ? own.hints : [])])],
  };
}
