import { useState } from 'preact/hooks';
import { escaped } from '../format.ts';
import { html } from '../html.ts';
import { announce } from './live-region.ts';

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
