import type { FlowMatcher } from '@weir/client/filter';

/** Columns that flows are sorted by, in the order of the key `s`. */
export const SORTS = ['rate', 'age', 'down', 'up', 'host', 'outbound', 'user', 'source'] as const;
export type TopSort = (typeof SORTS)[number];

/** The state of the screen, which keys change; see `press`. */
export interface TopState {
  readonly page: 'flows' | 'routes';
  readonly sort: TopSort;
  /** Whether the order is the opposite of the column's default. */
  readonly reversed: boolean;
  readonly filter: AppliedFilter;
  /** Id of the flow under the cursor. */
  readonly flow: number | undefined;
  /** Name of the route under the cursor. */
  readonly route: string | undefined;
  /** Whether flows keep their state and position. */
  readonly isFrozen: boolean;
  readonly overlay: Overlay | undefined;
  /** Scroll position of an overlay that is too long: its lines above the window. */
  readonly scrolled: { readonly overlay: Overlay; readonly lines: number } | undefined;
}

export interface AppliedFilter {
  readonly text: string;
  readonly matches: FlowMatcher;
}

/** An overlay over the page, which receives the keys. */
export type Overlay =
  | { readonly kind: 'help' }
  | { readonly kind: 'details'; readonly flow: number }
  /** The line in which a filter is typed. */
  | { readonly kind: 'filter'; readonly text: string; readonly problem: string | undefined }
  /** The targets that a route can be set to. */
  | {
      readonly kind: 'targets';
      readonly route: string;
      /** Index among the targets whose name contains `find`, in any case. */
      readonly cursor: number;
      readonly find: string;
      /** Whether keys are typed into `find`. */
      readonly isTyping: boolean;
    }
  | { readonly kind: 'question'; readonly question: ChangePrompt }
  | { readonly kind: 'busy'; readonly text: string }
  | { readonly kind: 'message'; readonly title: string; readonly lines: readonly string[] };

/** Overlays that consist of lines of text. */
export type TextOverlay = Exclude<Overlay, { readonly kind: 'filter' | 'targets' }>;

/** A question before a change. */
export interface ChangePrompt {
  readonly title: string;
  /** Effects of the change. */
  readonly effects: readonly string[];
  readonly answers: readonly ChangeChoice[];
}

export interface ChangeChoice {
  readonly key: string;
  /** Description: `pick, and close these flows`. */
  readonly text: string;
  /** The equivalent command. */
  readonly command: string;
  /** Makes the change; resolves with a text to show. @throws {WeirError} */
  readonly run: () => Promise<string>;
}

export const EVERY_FLOW: AppliedFilter = { text: '', matches: () => true };

export const FIRST_STATE: TopState = {
  page: 'flows',
  sort: 'rate',
  reversed: false,
  filter: EVERY_FLOW,
  flow: undefined,
  route: undefined,
  isFrozen: false,
  overlay: undefined,
  scrolled: undefined,
};
