/** Maximum number of rows of a list that a page receives: a window somewhat larger than what it shows. */
export const MAX_ROWS = 60;

/* The protocol between the dashboard and its page. Both use this directory, which imports only itself and types. */

/** A topic that a page watches, with parameters of its own, such as the window that it shows. */
export interface Watch {
  /** The page's number for the watch, which stays while its parameters change. */
  readonly id: number;
  readonly topic: string;
  readonly parameters: JsonValue;
}

export type JsonValue =
  | null
  | boolean
  | number
  | string
  | readonly JsonValue[]
  | { readonly [key: string]: JsonValue | undefined };

/** The first message of a stream. */
export interface StreamHello {
  /** The stream's name in `PUT /streams/NAME`, whose body is the list of watches: all of them, each time. */
  readonly stream: string;
}

/**
 * A message of a page's stream. Messages are numbered from 1 without gaps; a page that sees a gap reopens the stream,
 * and receives whole values.
 */
export type StreamMessage = {
  readonly n: number;
  /** The id of the watch. */
  readonly watch: number;
} & (
  | {
      /** Turns the last value of the watch into this one: `patch(value, delta)`; the first is from `undefined`. */
      readonly delta: Delta;
    }
  /** The topic has no value for these parameters; the last value remains. */
  | { readonly error: FailureText }
);

/**
 * A difference between two JSON values.
 * - `{ set }`: the whole value.
 * - `{ keys, gone }`: an object of which these keys have changed.
 * - `{ order, rows }`: an array of objects that have a unique `id`; `order` has all ids, unless the order is unchanged,
 *   and `rows` the differences of new and changed rows, by id.
 */
export type Delta =
  | { readonly set: JsonValue }
  | { readonly keys: { readonly [key: string]: Delta }; readonly gone?: readonly string[] }
  | {
      readonly order?: readonly (string | number)[];
      readonly rows: readonly (readonly [string | number, Delta])[];
    };

/** The body of a failed action, with a status of 4xx or 5xx. */
export interface ActionFailure {
  readonly error: FailureText;
}

export interface FailureText {
  /** A stable code for the page: `conflict`, `refused`, `read-only`, `no-socket` … */
  readonly code: string;
  readonly message: string;
  readonly hints: readonly string[];
  /** Further data for this code, such as the place of a refusal or both versions of a conflict. */
  readonly details?: JsonValue;
}

/** The response to `GET /session` and `POST /session`. */
export interface SessionInfo {
  readonly version: string;
  readonly readOnly: boolean;
  /** The secret that every request of this session carries besides its cookie, in the header `weir-dashboard`. */
  readonly key: string;
}

/** The header of every request that needs a session. */
export const KEY_HEADER = 'weir-dashboard';
