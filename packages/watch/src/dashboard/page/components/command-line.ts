import { signal } from '@preact/signals';
import { html } from '../html.ts';
import { useState } from 'preact/hooks';
import { escaped } from '../format.ts';

/** Minimum milliseconds between two announcements. */
const PAUSE_MS = 10_000;

const spoken = signal('');
let waiting: string | undefined;
let spokenAt = -PAUSE_MS;
let timer: ReturnType<typeof setTimeout> | undefined;

/**
 * Announces `text` to screen readers once the pause since the last announcement is over. The latest text replaces
 * earlier ones.
 */
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

/** A command line or lines of a file, with a button that copies them. */
export function CommandLine({ text, label = 'Command' }: { text: string; label?: string }) {
  const [copied, setCopied] = useState(false);
  const copy = () => {
    navigator.clipboard.writeText(text).then(
      () => {
        setCopied(true);
        announce('Copied');
      },
      // Without clipboard permission the text can still be selected.
      () => setCopied(false),
    );
  };
  const shown = text.split('\n').map(escaped).join('\n');
  return html`<div class="command-line">
    <pre tabindex="0" aria-label=${label}><code>${shown}</code></pre>
    <button type="button" class="quiet" onClick=${copy}>${copied ? 'Copied' : 'Copy'}</button>
  </div>`;
}
