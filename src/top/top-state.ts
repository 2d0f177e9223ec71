import type { FlowMatcher } from '../monitor/filter/matcher.ts';

/** Columns that flows are sorted by, in the order of the key `s`. */
export const SORTS = ['rate', 'age', 'down', 'up', 'host', 'outbound', 'user', 'source'] as const;
export type TopSort = (typeof SORTS)[number];

/** What the screen shows; keys change it, see `press`. */
export interface TopState {
  readonly page: 'flows' | 'routes';
  readonly sort: TopSort;
  /** The other direction than the usual one of the column. */
  readonly reversed: boolean;
  readonly filter: AppliedFilter;
  /** The flow under the cursor. */
  readonly flow: number | undefined;
  /** The route under the cursor. */
  readonly route: string | undefined;
  /** Flows stay as and where they are. */
  readonly isFrozen: boolean;
  readonly overlay: Overlay | undefined;
  /** Lines above the window of an overlay that is too long, and that overlay. */
  readonly scrolled: { readonly overlay: Overlay; readonly lines: number } | undefined;
}

export interface AppliedFilter {
  readonly text: string;
  readonly matches: FlowMatcher;
}

/** What lies over the page and takes the keys. */
export type Overlay =
  | { readonly kind: 'help' }
  | { readonly kind: 'details'; readonly flow: number }
  /** The line in which a filter is typed. */
  | { readonly kind: 'filter'; readonly text: string; readonly problem: string | undefined }
  /** The targets that a route can be set to. */
  | {
      readonly kind: 'targets';
      readonly route: string;
      /** Among those that have `find` in their name, in any case. */
      readonly cursor: number;
      readonly find: string;
      /** Whether keys are typed into `find`. */
      readonly isTyping: boolean;
    }
  | { readonly kind: 'question'; readonly question: ChangePrompt }
  | { readonly kind: 'busy'; readonly text: string }
  | { readonly kind: 'message'; readonly title: string; readonly lines: readonly string[] };

/** Those that are lines of text. */
export type TextOverlay = Exclude<Overlay, { readonly kind: 'filter' | 'targets' }>;

/** What is asked before anything changes. */
export interface ChangePrompt {
  readonly title: string;
  /** What will happen. */
  readonly effects: readonly string[];
  readonly answers: readonly ChangeChoice[];
}

export interface ChangeChoice {
  readonly key: string;
  /** What it does: `pick, and close these flows`. */
  readonly text: string;
  /** The command that does the same. */
  readonly command: string;
  /** Does it; resolves with what to show. @throws {WeirError} */
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
