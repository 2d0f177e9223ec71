import { signal } from '@preact/signals';
import { escaped } from '../format.ts';
import { html } from '../html.ts';

/** The result of an action, shown at the lower edge of the page until dismissed; a success disappears by itself. */
export interface Notice {
  readonly kind: 'done' | 'failed';
  readonly text: string;
  /** Next steps; shown as a list. */
  readonly hints?: readonly string[];
  /** A follow-up action, such as Undo. */
  readonly action?: { readonly title: string; readonly run: () => void };
}

const DONE_MS = 8000;
const MAX_NOTICES = 4;

const notices = signal<readonly Notice[]>([]);

export function notify(notice: Notice): void {
  notices.value = [...notices.peek(), notice].slice(-MAX_NOTICES);
  if (notice.kind === 'done') setTimeout(() => dismiss(notice), DONE_MS);
}

/** Shows why an action failed, with the hints of the dashboard. */
export function notifyFailure(what: string, error: unknown): void {
  const { message, hints } = failureOf(error);
  notify({ kind: 'failed', text: `${what}: ${message}`, hints });
}

/** The message and the hints of an error that `act` has thrown. */
export function failureOf(error: unknown): {
  readonly message: string;
  readonly hints: readonly string[];
} {
  const message = error instanceof Error ? error.message : String(error);
  const hints = error instanceof Error && 'hints' in error ? error.hints : undefined;
  return { message, hints: Array.isArray(hints) ? hints.map(String) : [] };
}

const dismiss = (notice: Notice): void => {
  notices.value = notices.peek().filter((other) => other !== notice);
};

/** Renders the notices; the shell has it once. */
export const Notices = () =>
  html`<div class="notices">
    <div role="status">${list('done')}</div>
    <div role="alert">${list('failed')}</div>
  </div>`;

const list = (kind: Notice['kind']) =>
  notices.value
    .filter((notice) => notice.kind === kind)
    .map(
      (notice) =>
        html`<div class=${`notice ${kind}`}>
          <div>
            <p>
              <strong>${kind === 'done' ? '✓ Done.' : '✕ Failed.'}</strong> ${escaped(notice.text)}
            </p>
            ${notice.hints?.map((hint) => html`<p class="hint">${escaped(hint)}</p>`)}
          </div>
          ${
            notice.action &&
            html`<button
              type="button"
              onClick=${() => {
                dismiss(notice);
                notice.action?.run();
              }}
            >
              ${notice.action.title}
            </button>`
          }
          <button
            type="button"
            class="quiet icon"
            aria-label="Dismiss"
            onClick=${() => dismiss(notice)}
          >
            ✕
          </button>
        </div>`,
    );
