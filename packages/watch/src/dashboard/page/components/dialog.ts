import type { ComponentChildren } from 'preact';
import { useId, useLayoutEffect, useRef } from 'preact/hooks';
import { html } from '../html.ts';

export interface DialogProps {
  readonly title: ComponentChildren;
  /** Whether the dialog is a sheet at the side, for details; otherwise a box in the middle. */
  readonly sheet?: boolean;
  /** Called on Escape, the close button, or a click outside. */
  readonly onClose: () => void;
  readonly children?: ComponentChildren;
}

/**
 * A modal dialog, open while it is mounted. The browser keeps the focus inside; on close, the focus returns to the
 * element that had it, or to the grid that contains the row.
 */
export function Dialog({ title, sheet = false, onClose, children }: DialogProps) {
  const ref = useRef<HTMLDialogElement>(null);
  const titleId = useId();
  // A layout effect runs before the next key, which would otherwise go to the page below, or after closing to no
  // element.
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
