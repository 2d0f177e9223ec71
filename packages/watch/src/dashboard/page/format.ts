import { age, bytes, day, isNearlyFull, milliseconds, printable } from '../shared/texts.ts';
import { html } from './html.ts';
import { signal, type ReadonlySignal } from '@preact/signals';

export { age, bytes, day, isNearlyFull, milliseconds };

/** A rate as text: `1.5 MB/s`; 0 is a dash, so that active flows stand out. */
export const rate = (bytesPerSecond: number): string =>
  bytesPerSecond < 0.5 ? '–' : `${bytes(bytesPerSecond)}/s`;

const GROUPED = new Intl.NumberFormat('en');

/** A number with grouped digits: `10,000`. */
export const count = (value: number): string => GROUPED.format(value);

/** A number with its noun: `1 flow`, `12 flows`; give both forms for irregular plurals. */
export const counted = (value: number, one: string, many = `${one}s`): string =>
  `${count(value)} ${value === 1 ? one : many}`;

/** The age of a time of the dashboard: `3m 5s`; it changes with the clock. */
export const since = (at: number): string => age(now.value - at);

/**
 * Escapes control characters, direction marks and terminal escapes of an untrusted text. In markup use `Name`, which
 * also keeps right-to-left letters from reordering the text around them.
 */
export const escaped = printable;

/** An untrusted name or text in markup. */
export const Name = ({ text, title }: { readonly text: string; readonly title?: boolean }) => {
  const shown = printable(text);
  return html`<bdi class="name" title=${title === true ? shown : undefined}>${shown}</bdi>`;
};

/** A failure's message. The lines after the first are preformatted, so that the columns of quoted lines line up. */
export const Failure = ({ text }: { readonly text: string }) => {
  const [first, ...lines] = text.split('\n').map(escaped);
  return html`<p class="error">✕ ${first}</p>
    ${lines.length > 0 && html`<pre class="message">${lines.join('\n')}</pre>`}`;
};

/** The local time of day: `14:03:22`. */
export const timeOfDay = (at: number): string =>
  new Date(at).toLocaleTimeString('en-GB', { hour12: false });

const TICK_MS = 1000;

const seconds = signal(Date.now());
let ahead = 0;

/** The time of the dashboard's process in Unix milliseconds, updated once a second; ages are relative to it. */
export const now: ReadonlySignal<number> = seconds;

/** Sets the dashboard's time: this browser may be on another machine with another clock. */
export function setClock(serverNow: number): void {
  ahead = serverNow - Date.now();
  seconds.value = serverNow;
}

/** Keeps `now` current while the page is visible. */
export function startClock(): void {
  const tick = () => {
    if (!document.hidden) seconds.value = Date.now() + ahead;
  };
  setInterval(tick, TICK_MS);
  document.addEventListener('visibilitychange', tick);
}
