import { computed, signal, type ReadonlySignal } from '@preact/signals';
import { useLayoutEffect } from 'preact/hooks';
import { letterKeys } from './settings.ts';

/** A command of the page, run by a key or from the palette. */
export interface PageCommand {
  /** An imperative sentence without a full stop, shown in the palette and in the help. */
  readonly title: string;
  /** The heading in the palette: `Go to`, `Connections`, `Groups`. */
  readonly group: string;
  /** `x`, `/`, `Escape`, `Control+k`; after `g`, `g c`. Without a key the command is only in the palette. */
  readonly key?: string;
  readonly run: () => void;
}

const registered = signal<readonly (readonly PageCommand[])[]>([]);

/** All commands currently available, those of the shell first. */
export const commands: ReadonlySignal<readonly PageCommand[]> = computed(() =>
  registered.value.flat(),
);

/** Registers `list`; the returned function removes it again. */
function addCommands(list: readonly PageCommand[]): () => void {
  registered.value = [...registered.peek(), list];
  return () => {
    registered.value = registered.peek().filter((other) => other !== list);
  };
}

/** Makes commands available while the component is mounted. `list` is read again after each rendering. */
export function useCommands(list: readonly PageCommand[]): void {
  // Titles and keys seldom change with a rendering, but the closures in `run` do. A layout effect runs before the
  // next key, which would otherwise act on the previous rendering.
  useLayoutEffect(() => addCommands(list));
}

/** Milliseconds within which the second key of `g c` must follow. */
const SEQUENCE_MS = 1500;

/** Runs commands by their keys from now on. */
export function startKeys(): void {
  let prefix = '';
  let prefixAt = 0;
  document.addEventListener('keydown', (event) => {
    if (event.defaultPrevented || event.isComposing || event.altKey) return;
    const letter = event.key.length === 1 && !event.ctrlKey && !event.metaKey;
    if (letter && (letterKeys.value === 'off' || isTyping(event.target))) return;
    if (document.querySelector('dialog[open]') && event.key !== 'Escape') return;
    const second = prefix !== '' && event.timeStamp - prefixAt < SEQUENCE_MS;
    const key = (second ? `${prefix} ` : '') + nameOf(event);
    prefix = '';
    // The newest commands take precedence: those of the page over those of the shell.
    const command = commands.value.findLast((candidate) => candidate.key === key);
    if (command) {
      event.preventDefault();
      command.run();
    } else if (commands.value.some((candidate) => candidate.key?.startsWith(`${key} `))) {
      prefix = key;
      prefixAt = event.timeStamp;
    }
  });
}

const nameOf = (event: KeyboardEvent): string =>
  event.ctrlKey || event.metaKey ? `Control+${event.key.toLowerCase()}` : event.key;

const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement &&
  (target.isContentEditable ||
    target.matches('input:not([type=checkbox], [type=radio]), textarea, select'));
