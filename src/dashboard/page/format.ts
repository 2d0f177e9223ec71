import { age, bytes, day, isNearlyFull, milliseconds, printable } from '../shared/texts.ts';
import { now } from './clock.ts';
import { html } from './html.ts';

export { age, bytes, day, isNearlyFull, milliseconds };

/** `1.5 MB/s`; a rate of 0 is a dash, so that what moves stands out. */
export const rate = (bytesPerSecond: number): string =>
  bytesPerSecond < 0.5 ? '–' : `${bytes(bytesPerSecond)}/s`;

const GROUPED = new Intl.NumberFormat('en');

/** `10,000`. */
export const count = (value: number): string => GROUPED.format(value);

/** `1 flow`, `12 flows`; for irregular plurals give both. */
export const counted = (value: number, one: string, many = `${one}s`): string =>
  `${count(value)} ${value === 1 ? one : many}`;

/** `3m 5s`, since a time of the dashboard; it changes with the clock. */
export const since = (at: number): string => age(now.value - at);

/**
 * A foreign text as a string: control characters, direction marks and terminal escapes are shown escaped. In markup
 * use `Name`, which also keeps right-to-left letters from reordering what is around them.
 */
export const escaped = printable;

/** A foreign name or text in markup. */
export const Name = ({ text, title }: { readonly text: string; readonly title?: boolean }) => {
  const shown = printable(text);
  return html`<bdi class="name" title=${title === true ? shown : undefined}>${shown}</bdi>`;
};

/** Why something is not possible. A message with lines of a file has these below, so that its columns line up. */
export const Failure = ({ text }: { readonly text: string }) => {
  const [first, ...lines] = text.split('\n').map(escaped);
  return html`<p class="error">✕ ${first}</p>
    ${lines.length > 0 && html`<pre class="message">${lines.join('\n')}</pre>`}`;
};

/** The time of day of a moment, `14:03:22`. */
export const timeOfDay = (at: number): string =>
  new Date(at).toLocaleTimeString('en-GB', { hour12: false });
