import type { ComponentChildren } from 'preact';
import { useId, useLayoutEffect, useRef } from 'preact/hooks';
import { html } from '../html.ts';

export interface DialogProps {
  readonly title: ComponentChildren;
  /** A sheet at the side, for details; otherwise a box in the middle. */
  readonly sheet?: boolean;
  /** Escape, the close button, or a click beside it. */
  readonly onClose: () => void;
  readonly children?: ComponentChildren;
}

/**
 * A modal dialog, open while it is mounted. The browser keeps the focus inside; when it closes, the focus returns to
 * where it was, or to the grid that had the row.
 */
export function Dialog({ title, sheet = false, onClose, children }: DialogProps) {
  const ref = useRef<HTMLDialogElement>(null);
  const titleId = useId();
  // Before the next key, which would go to the page below, or after closing to nothing.
  useLayoutEffect(() => {
    const dialog = ref.current;
    const before = document.activeElement;
    dialog?.showModal();
    return () => {
      dialog?.close();
      if (before instanceof HTMLElement && before.isConnected)
        before.focus({ preventScroll: true });
    };
  }, []);
  return html`<dialog
    ref=${ref}
    class=${sheet ? 'dialog sheet' : 'dialog'}
    aria-labelledby=${titleId}
    onCancel=${(event: Event) => {
      event.preventDefault();
      onClose();
    }}
    onKeyDown=${(event: KeyboardEvent) => {
      // A search field would take the first Escape to clear itself.
      if (event.key !== 'Escape' || event.defaultPrevented || event.isComposing) return;
      event.preventDefault();
      onClose();
    }}
    onClick=${(event: MouseEvent) => {
      if (event.target === ref.current) onClose();
    }}
  >
    <div class="dialog-body">
      <header class="dialog-head">
        <h2 id=${titleId}>${title}</h2>
        <button type="button" class="quiet icon" aria-label="Close" onClick=${onClose}>✕</button>
      </header>
      ${children}
    </div>
  </dialog>`;
}
