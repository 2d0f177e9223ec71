import type { ComponentChildren } from 'preact';
import { useId, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { html } from '../html.ts';
import { signal } from '@preact/signals';
import { CommandLine } from './command-line.ts';

interface DialogProps {
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

/** A question to confirm before something is changed. */
interface Confirmation {
  /** The question: `Close 12 connections?` */
  readonly title: string;
  /** The effect of the change, with its count: `New flows → tokyo; 12 open ones stay on osaka.` */
  readonly effect: ComponentChildren;
  /** The equivalent command line, depending on the option. */
  readonly command?: string | ((option: boolean) => string);
  /** The label of the confirming button: `Close 12`. */
  readonly verb: string;
  /** Whether something is ended or removed: the button is marked, and the focus starts at Cancel. */
  readonly danger?: boolean;
  /** A checkbox: `Close the 12 open ones`. */
  readonly option?: { readonly label: string; readonly checked?: boolean };
}

/** The confirmed option; `undefined` if the question was cancelled. */
export type Answer = { readonly option: boolean } | undefined;

interface Pending {
  readonly question: Confirmation;
  readonly answer: (answer: Answer) => void;
}

const pending = signal<Pending | undefined>(undefined);

/** Asks a question and waits for the decision. A second question cancels the first. */
export function confirm(question: Confirmation): Promise<Answer> {
  pending.peek()?.answer(undefined);
  const { promise, resolve } = Promise.withResolvers<Answer>();
  const answer = (result: Answer) => {
    pending.value = undefined;
    resolve(result);
  };
  pending.value = { question, answer };
  return promise;
}

/** Renders the pending question; the shell has it once. */
export const ConfirmHost = () =>
  pending.value === undefined ? null : html`<${ConfirmDialog} ...${pending.value} />`;

function ConfirmDialog({ question, answer }: Pending) {
  const { title, effect, command, verb, danger = false, option } = question;
  const [checked, setChecked] = useState(option?.checked === true);
  const text = typeof command === 'function' ? command(checked) : command;
  return html`<${Dialog} title=${title} onClose=${() => answer(undefined)}>
    <div class="effect">${effect}</div>
    ${
      option &&
      html`<label class="option">
        <input
          type="checkbox"
          checked=${checked}
          onChange=${(event: Event) =>
            setChecked(event.target instanceof HTMLInputElement && event.target.checked)}
        />
        ${option.label}
      </label>`
    }
    ${text !== undefined && html`<${CommandLine} text=${text} label="The same on the command line" />`}
    <div class="dialog-actions">
      <button type="button" autofocus=${danger} onClick=${() => answer(undefined)}>Cancel</button>
      <button
        type="button"
        class=${danger ? 'danger' : 'primary'}
        autofocus=${!danger}
        onClick=${() => answer({ option: checked })}
      >
        ${verb}
      </button>
    </div>
  <//>`;
}
