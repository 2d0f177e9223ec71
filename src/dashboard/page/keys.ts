import { commands } from './commands.ts';
import { letterKeys } from './settings.ts';

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
