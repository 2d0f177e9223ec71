import { signal } from '@preact/signals';
import { html } from '../html.ts';

/** A screen reader is not interrupted more often than this. */
const PAUSE_MS = 10_000;

const spoken = signal('');
let waiting: string | undefined;
let spokenAt = -PAUSE_MS;
let timer: ReturnType<typeof setTimeout> | undefined;

/** Has screen readers say `text` when the pause since the last one is over. The latest text wins. */
export function announce(text: string): void {
  waiting = text;
  timer ??= setTimeout(speak, Math.max(0, spokenAt + PAUSE_MS - performance.now()));
}

function speak(): void {
  timer = undefined;
  spokenAt = performance.now();
  spoken.value = waiting ?? '';
}

/** The one live region of the page, invisible. */
export const LiveRegion = () =>
  html`<div class="visually-hidden" role="status" aria-live="polite" id="live">${spoken}</div>`;
