import type { MonitoredFlow } from '@weir/client/monitor';
import { matcherOf, LONGEST_FILTER, parseFilter } from '@weir/client/filter';
import { scrollEnd } from './overlay-lines.ts';
import {
  routeRows,
  targetsWith,
  type Snapshot,
  EVERY_FLOW,
  SORTS,
  type ChangeChoice,
  type Overlay,
  type TextOverlay,
  type TopState,
} from './top-state.ts';

/** A key: a printable character, or the name of another key, such as `enter` or `ctrl-c`. */
export type Key = string;

/** Keys by the end of their sequence, after ESC [ or ESC O. */
const SEQUENCES: Readonly<Record<string, Key>> = {
  A: 'up',
  B: 'down',
  C: 'right',
  D: 'left',
  H: 'home',
  F: 'end',
  '1~': 'home',
  '3~': 'delete',
  '4~': 'end',
  '5~': 'pageup',
  '6~': 'pagedown',
  '7~': 'home',
  '8~': 'end',
  Z: 'shift-tab',
};

const CONTROLS: Readonly<Record<string, Key>> = {
  '\r': 'enter',
  '\n': 'enter',
  '\t': 'tab',
  '\x7f': 'backspace',
  '\b': 'backspace',
  '\x03': 'ctrl-c',
  '\x0c': 'ctrl-l',
  '\x15': 'ctrl-u',
  '\x1a': 'ctrl-z',
};

const ESCAPE = '\x1b';
/** Character classes of a control sequence: ECMA-48, section 5.4. */
const isParameter = (char: string): boolean => char >= ' ' && char <= '?';
const isFinal = (char: string): boolean => char >= '@' && char <= '~';
const UNPRINTABLE = /[\p{Cc}\p{Cs}]/u;
/** Maximum length of a sequence; no key of a terminal has a longer one. */
const LONGEST_SEQUENCE = 32;

/** Parses keys from a terminal's input, in arbitrary chunks. Unknown sequences and control characters are skipped. */
export class KeyReader {
  /** The beginning of an incomplete sequence. */
  #rest = '';

  /**
   * Whether the last chunk ended with ESC or within a sequence: either the rest follows immediately, or the key was
   * ESC.
   */
  get isWithin(): boolean {
    return this.#rest !== '';
  }

  /** Parses a chunk and returns the keys that it completes. */
  push(piece: string): readonly Key[] {
    const keys: Key[] = [];
    const chars = Array.from(this.#rest + piece);
    this.#rest = '';
    let at = 0;
    while (at < chars.length) {
      const char = chars[at] ?? '';
      if (char === ESCAPE) {
        const end = sequenceEnd(chars, at);
        if (end === undefined) {
          this.#rest = chars.slice(at).join('');
          break;
        }
        const key = end === at + 1 ? 'escape' : SEQUENCES[chars.slice(at + 2, end).join('')];
        if (key !== undefined) keys.push(key);
        at = end;
      } else {
        const key = UNPRINTABLE.test(char) ? CONTROLS[char] : char;
        if (key !== undefined) keys.push(key);
        at++;
      }
    }
    return keys;
  }

  /** Returns the key of an ESC without a continuation; to be called some time after the chunk. */
  flush(): readonly Key[] {
    const rest = this.#rest;
    this.#rest = '';
    return rest === ESCAPE ? ['escape'] : [];
  }
}

/**
 * The exclusive end of the sequence that begins with the ESC at `start`; the ESC alone if it begins none. `undefined`
 * if the rest has not arrived yet.
 */
function sequenceEnd(chars: readonly string[], start: number): number | undefined {
  const introducer = chars[start + 1];
  if (introducer === undefined) return undefined;
  if (introducer !== '[' && introducer !== 'O') return start + 1;
  for (let at = start + 2; at < chars.length; at++) {
    const char = chars[at] ?? '';
    if (isFinal(char)) return at + 1;
    // A character that cannot be part of a sequence aborts it.
    if (!isParameter(char) || at - start >= LONGEST_SEQUENCE) return at;
  }
  return undefined;
}

/** The action that a key requests in addition to a new state. */
export type KeyAction =
  | { readonly kind: 'quit' | 'suspend' | 'redraw' }
  | Change
  | { readonly kind: 'answer'; readonly answer: ChangeChoice };

/** A change of the running Weir, which requires confirmation. */
export type Change =
  | { readonly kind: 'reload' }
  | { readonly kind: 'close'; readonly flow: MonitoredFlow }
  | { readonly kind: 'pick'; readonly route: string; readonly target: string };

interface KeyResult {
  readonly state: TopState;
  readonly action?: KeyAction;
}

/** Number of lines that a page key moves by. */
const PAGE = 20;

const STEPS: Readonly<Record<Key, number>> = {
  j: 1,
  down: 1,
  k: -1,
  up: -1,
  pagedown: PAGE,
  pageup: -PAGE,
  home: -Infinity,
  end: Infinity,
};

/** Applies a key to the state. */
export function press(state: TopState, key: Key, snapshot: Snapshot): KeyResult {
  switch (key) {
    case 'ctrl-c':
      return { state, action: { kind: 'quit' } };
    case 'ctrl-z':
      return { state, action: { kind: 'suspend' } };
    case 'ctrl-l':
      return { state, action: { kind: 'redraw' } };
    default:
  }
  const { overlay } = state;
  return overlay ? pressOverlay(state, overlay, key, snapshot) : pressPage(state, key, snapshot);
}

const over = (state: TopState, overlay: Overlay | undefined): KeyResult => ({
  state: { ...state, overlay },
});

function pressPage(state: TopState, key: Key, snapshot: Snapshot): KeyResult {
  const step = STEPS[key];
  if (step !== undefined) return { state: moved(state, step, snapshot) };
  switch (key) {
    case 'q':
      return { state, action: { kind: 'quit' } };
    case '?':
      return over(state, { kind: 'help' });
    case 'tab':
      return { state: { ...state, page: state.page === 'flows' ? 'routes' : 'flows' } };
    case 'p':
      return { state: { ...state, page: 'routes' } };
    case 'escape':
      return {
        state: { ...state, page: 'flows', filter: EVERY_FLOW, isFrozen: false },
      };
    case 'r':
      return { state, action: { kind: 'reload' } };
    case 'enter':
      return { state: opened(state, snapshot) };
    default:
  }
  return state.page === 'flows' ? pressFlows(state, key, snapshot) : { state };
}

function pressFlows(state: TopState, key: Key, snapshot: Snapshot): KeyResult {
  switch (key) {
    case '/':
      return over(state, { kind: 'filter', text: state.filter.text, problem: undefined });
    case 's':
      return {
        state: {
          ...state,
          sort: SORTS[(SORTS.indexOf(state.sort) + 1) % SORTS.length] ?? 'rate',
          reversed: false,
        },
      };
    case 'S':
      return { state: { ...state, reversed: !state.reversed } };
    case ' ':
      return { state: { ...state, isFrozen: !state.isFrozen } };
    case 'x': {
      const flow = snapshot.flows.find(({ view }) => view.id === state.flow);
      // Without a cursor, show it first: the user has to see which flow is meant.
      if (!flow) return { state: moved(state, 1, snapshot) };
      if (flow.closedAt === undefined) return { state, action: { kind: 'close', flow } };
      return over(state, {
        kind: 'message',
        title: `Flow ${flow.view.id} has closed already.`,
        lines: [],
      });
    }
    default:
      return { state };
  }
}

function pressOverlay(state: TopState, overlay: Overlay, key: Key, snapshot: Snapshot): KeyResult {
  if (key === 'escape') return over(state, undefined);
  if (overlay.kind === 'filter') return pressFilter(state, overlay, key);
  if (overlay.kind === 'targets') return pressTargets(state, overlay, key, snapshot);
  const step = STEPS[key];
  if (step !== undefined) return { state: scrolled(state, overlay, step, snapshot) };
  switch (overlay.kind) {
    case 'busy':
      return { state };
    case 'question': {
      const answer = overlay.question.answers.find((each) => each.key === key);
      return answer ? { state, action: { kind: 'answer', answer } } : { state };
    }
    case 'details':
      if (key === 'x') return pressFlows({ ...state, overlay: undefined }, key, snapshot);
      return key === 'enter' || key === 'q' ? over(state, undefined) : { state };
    case 'help':
    case 'message':
      return key === 'enter' || key === 'q' || key === '?' ? over(state, undefined) : { state };
    default:
      return overlay satisfies never;
  }
}

function scrolled(
  state: TopState,
  overlay: TextOverlay,
  step: number,
  snapshot: Snapshot,
): TopState {
  const before = state.scrolled?.overlay === overlay ? state.scrolled.lines : 0;
  const lines = Math.max(0, Math.min(scrollEnd(overlay, snapshot), before + step));
  return { ...state, scrolled: { overlay, lines } };
}

function pressFilter(
  state: TopState,
  overlay: Extract<Overlay, { kind: 'filter' }>,
  key: Key,
): KeyResult {
  if (key === 'enter') {
    const parsed = parseFilter(overlay.text);
    if (parsed.problem) return over(state, { ...overlay, problem: parsed.problem.message });
    const filter = { text: overlay.text, matches: matcherOf(parsed.terms) };
    return { state: { ...state, filter, overlay: undefined } };
  }
  const text = typed(overlay.text, key);
  return over(state, { ...overlay, text, problem: undefined });
}

function typed(text: string, key: Key): string {
  if (key === 'backspace') return Array.from(text).slice(0, -1).join('');
  if (key === 'ctrl-u') return '';
  // Names of keys have several characters. Pasted text beyond the maximum length is dropped.
  const isCharacter = Array.from(key).length === 1;
  return isCharacter && text.length < LONGEST_FILTER ? text + key : text;
}

function pressTargets(
  state: TopState,
  overlay: Extract<Overlay, { kind: 'targets' }>,
  key: Key,
  { monitor }: Snapshot,
): KeyResult {
  const targets = targetsWith(monitor.routes?.value.view, overlay.find);
  const step = overlay.isTyping && Array.from(key).length === 1 ? undefined : STEPS[key];
  if (step !== undefined) {
    return over(state, { ...overlay, cursor: clamp(overlay.cursor + step, targets.length) });
  }
  const target = targets[overlay.cursor];
  if (key === 'enter') {
    return target
      ? { state, action: { kind: 'pick', route: overlay.route, target: target.name } }
      : { state };
  }
  if (overlay.isTyping) {
    const find = typed(overlay.find, key);
    return find === overlay.find ? { state } : over(state, { ...overlay, find, cursor: 0 });
  }
  return key === '/' ? over(state, { ...overlay, isTyping: true }) : { state };
}

const clamp = (at: number, count: number): number => Math.max(0, Math.min(count - 1, at));

/** Moves the cursor of the page. */
function moved(state: TopState, step: number, { flows, monitor }: Snapshot): TopState {
  if (state.page === 'routes') {
    const names = routeRows(monitor.routes?.value.view).map(({ name }) => name);
    return { ...state, route: stepped(names, state.route, step) };
  }
  const ids = flows.map(({ view }) => view.id);
  return { ...state, flow: stepped(ids, state.flow, step) };
}

/** The element at a distance from another; without a cursor, an end of the list. */
function stepped<T>(list: readonly T[], from: T | undefined, step: number): T | undefined {
  const at = from === undefined ? -1 : list.indexOf(from);
  const to = at < 0 && step > 0 && step !== Infinity ? 0 : at + step;
  return list[clamp(to, list.length)];
}

/** Opens the element under the cursor; without a cursor, shows it. */
function opened(state: TopState, snapshot: Snapshot): TopState {
  const { flows, monitor } = snapshot;
  if (state.page === 'flows') {
    const flow = flows.find(({ view }) => view.id === state.flow);
    if (!flow) return moved(state, 1, snapshot);
    return { ...state, overlay: { kind: 'details', flow: flow.view.id } };
  }
  const view = monitor.routes?.value.view;
  const row = routeRows(view).find(({ name }) => name === state.route);
  if (!view || !row) return moved(state, 1, snapshot);
  const cursor = Math.max(
    0,
    view.targets.findIndex(({ name }) => name === row.target),
  );
  const overlay = { kind: 'targets', route: row.name, cursor, find: '', isTyping: false } as const;
  return { ...state, overlay };
}
