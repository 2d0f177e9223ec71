import { signal, type ReadonlySignal } from '@preact/signals';
import { useEffect, useMemo } from 'preact/hooks';
import {
  KEY_HEADER,
  type ActionFailure,
  type FailureText,
  type JsonValue,
  type SessionInfo,
} from '../shared/protocol.ts';
import { PageStream, type PageStreamEnd } from './stream.ts';
import { Watched, type Watching } from './watched.ts';

/* The page's connection to `weir dashboard`: a session, one stream of values while the page is visible, and actions. */

export type ConnectionState =
  | { readonly kind: 'connecting' | 'open' }
  /** The page is hidden, and requests nothing. */
  | { readonly kind: 'paused' }
  /** `weir dashboard` cannot be reached, which is retried. All values are as of `since`. */
  | { readonly kind: 'lost'; readonly since: number }
  /** Other windows of this browser use all streams; this is retried. */
  | { readonly kind: 'too-many-windows' }
  | { readonly kind: 'signed-out'; readonly why: SignedOutCause };

export type SignedOutCause =
  /** The address was opened without a token. */
  | 'no-session'
  /** The link was used before, or has expired. */
  | 'used-link'
  /** The session has expired, or `weir dashboard` was restarted. */
  | 'ended';

/** A failed action, with the code and hints that the dashboard has sent. */
export class ActionFailed extends Error {
  readonly code: string;
  readonly hints: readonly string[];
  readonly details: JsonValue | undefined;

  constructor({ code, message, hints, details }: FailureText) {
    super(message);
    this.name = 'ActionFailed';
    this.code = code;
    this.hints = hints;
    this.details = details;
  }
}

const state = signal<ConnectionState>({ kind: 'connecting' });
const info = signal<SessionInfo | undefined>(undefined);
const heard = signal<number | undefined>(undefined);

export const connection: ReadonlySignal<ConnectionState> = state;
/** The version and `readOnly`; `undefined` before there is a session. */
export const session: ReadonlySignal<SessionInfo | undefined> = info;
/** When the last message arrived from the dashboard, in this browser's Unix milliseconds. */
export const heardAt: ReadonlySignal<number | undefined> = heard;

const TOKEN = /^#[\w-]{43}$/;
/**
 * Key in local storage of the session's secret besides the cookie: scripts cannot read the cookie, and pages of other
 * ports cannot read this.
 */
const STORED_KEY = 'weir.key';
const FIRST_RETRY_MS = 500;
const LAST_RETRY_MS = 5000;

let key = readStored();
let stream: PageStream | undefined;
let retry: ReturnType<typeof setTimeout> | undefined;
let retryMs = FIRST_RETRY_MS;
const watches = new Watched(() => stream?.setWatches(watches.list));

/**
 * A signal of a topic's value, kept current while a component or an effect reads it; `undefined` before the first
 * value. Equal calls share one signal while it is read.
 */
export const watch = <T>(topic: string, parameters: JsonValue = null): Watching<T> =>
  watches.shared(topic, parameters) as Watching<T>;

/**
 * Watches a topic for a component whose parameters change, such as a window of rows: the last value stays until the
 * next one has arrived.
 */
export function useWatch<T>(topic: string, parameters: JsonValue = null): Watching<T> {
  const watching = useMemo(() => watches.create(topic, parameters), [topic]);
  useEffect(() => watches.setParameters(watching, parameters));
  return watching as Watching<T>;
}

/** Requests an action of the dashboard. @throws {ActionFailed} */
export async function act<T = JsonValue>(name: string, parameters: JsonValue = null): Promise<T> {
  let response: Response;
  try {
    response = await send('POST', `/actions/${name}`, parameters);
  } catch {
    const message = 'weir dashboard cannot be reached';
    throw new ActionFailed({ code: 'lost', message, hints: ['see its terminal or its log'] });
  }
  if (response.ok) return (await response.json()) as T;
  if (response.status === 401) signOut('ended');
  throw new ActionFailed(await failureOf(response));
}

/**
 * Starts the connection: removes the token of a link from the address and the history, before a router reads it, and
 * opens the stream.
 */
export function startConnection(): void {
  addEventListener('hashchange', () => void takeLink());
  document.addEventListener('visibilitychange', follow);
  void (takeLink() ?? resume());
}

/** Exchanges the token in the address, if there is one, for a session. */
function takeLink(): Promise<void> | undefined {
  if (!TOKEN.test(location.hash)) return undefined;
  const token = location.hash.slice(1);
  history.replaceState(null, '', location.pathname + location.search);
  return signIn(token);
}

async function signIn(token: string): Promise<void> {
  await begin(
    () => send('POST', '/session', { token }),
    async ({ status }) => {
      // The same link was opened twice in one browser.
      if (status === 401 && key !== '') await resume('used-link');
      else signOut('used-link');
    },
  );
}

/** Resumes the session of this browser. */
const resume = (otherwise: SignedOutCause = 'no-session'): Promise<void> =>
  begin(
    () => send('GET', '/session'),
    async () => signOut(otherwise),
  );

async function begin(
  ask: () => Promise<Response>,
  refused: (response: Response) => Promise<void>,
): Promise<void> {
  let response: Response;
  try {
    response = await ask();
  } catch {
    lose(() => void begin(ask, refused));
    return;
  }
  if (!response.ok) {
    await refused(response);
    return;
  }
  const value = (await response.json()) as SessionInfo;
  info.value = value;
  key = value.key;
  store(key);
  follow();
}

/** Opens the stream while the page is visible. */
function follow(): void {
  if (info.peek() === undefined) return;
  clearTimeout(retry);
  if (document.hidden) {
    stream?.close();
    stream = undefined;
    state.value = { kind: 'paused' };
    return;
  }
  if (stream) return;
  if (state.peek().kind === 'paused') state.value = { kind: 'connecting' };
  watches.restart();
  const opened: PageStream = new PageStream({
    watches: watches.list,
    send,
    onOpen: () => {
      retryMs = FIRST_RETRY_MS;
      state.value = { kind: 'open' };
    },
    onMessage: (message) => watches.take(message),
    onHeard: () => {
      heard.value = Date.now();
    },
    onEnd: (end) => {
      if (stream === opened) ended(end);
    },
  });
  stream = opened;
}

function ended(end: PageStreamEnd): void {
  stream = undefined;
  switch (end) {
    case 'gap':
      again(follow);
      return;
    case 'unauthorized':
      signOut('ended');
      return;
    case 'too-many':
      state.value = { kind: 'too-many-windows' };
      again(follow);
      return;
    case 'lost':
      lose(follow);
      return;
    default:
      end satisfies never;
  }
}

function lose(next: () => void): void {
  if (state.peek().kind !== 'lost') state.value = { kind: 'lost', since: Date.now() };
  again(next);
}

function again(next: () => void): void {
  clearTimeout(retry);
  retry = setTimeout(next, retryMs);
  retryMs = Math.min(2 * retryMs, LAST_RETRY_MS);
}

function signOut(why: SignedOutCause): void {
  clearTimeout(retry);
  stream?.close();
  stream = undefined;
  info.value = undefined;
  state.value = { kind: 'signed-out', why };
}

const send = (
  method: string,
  path: string,
  body?: JsonValue,
  abort?: AbortSignal,
): Promise<Response> =>
  fetch(path, {
    method,
    headers: { [KEY_HEADER]: key, 'Content-Type': 'application/json' },
    cache: 'no-store',
    redirect: 'error',
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    ...(abort && { signal: abort }),
  });

async function failureOf(response: Response): Promise<FailureText> {
  try {
    return ((await response.json()) as ActionFailure).error;
  } catch {
    return { code: 'http', message: `status ${response.status}`, hints: [] };
  }
}

function readStored(): string {
  try {
    return localStorage.getItem(STORED_KEY) ?? '';
  } catch {
    return '';
  }
}

function store(value: string): void {
  try {
    localStorage.setItem(STORED_KEY, value);
  } catch {
    // A browser without storage needs a new link after a reload of the page.
  }
}
