import { signal } from '@preact/signals';
import { useId, useState } from 'preact/hooks';
import { commands, type PageCommand } from './commands.ts';
import { Dialog } from './components/dialog.ts';
import { escaped } from './format.ts';
import { html } from './html.ts';

const MAX_SHOWN = 40;

const open = signal(false);

/** Opens the command palette. */
export const showPalette = (): void => {
  open.value = true;
};

/** A search field over all commands. */
export const Palette = () => (open.value ? html`<${PaletteDialog} />` : null);

function PaletteDialog() {
  const [text, setText] = useState('');
  const [chosen, setChosen] = useState(0);
  const listId = useId();
  const found = matching(commands.value, text).slice(0, MAX_SHOWN);
  const close = () => {
    open.value = false;
  };
  const run = (command: PageCommand | undefined) => {
    if (!command) return;
    close();
    // After the dialog has returned the focus.
    setTimeout(command.run);
  };
  const onKey = (event: KeyboardEvent) => {
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
    if (step !== 0) setChosen(Math.max(0, Math.min(found.length - 1, chosen + step)));
    else if (event.key === 'Enter') run(found[chosen]);
    else return;
    event.preventDefault();
  };
  return html`<${Dialog} title="Commands" onClose=${close}>
    <input
      class="palette-search"
      type="search"
      role="combobox"
      aria-label="Search commands"
      aria-expanded="true"
      aria-controls=${listId}
      aria-activedescendant=${found.length > 0 ? `${listId}-${chosen}` : undefined}
      autocomplete="off"
      autofocus
      value=${text}
      onInput=${(event: Event) => {
        if (event.target instanceof HTMLInputElement) setText(event.target.value);
        setChosen(0);
      }}
      onKeyDown=${onKey}
    />
    <ul class="palette" role="listbox" id=${listId} aria-label="Commands">
      ${found.map(
        (command, index) =>
          html`<li
            role="option"
            id=${`${listId}-${index}`}
            aria-selected=${index === chosen ? 'true' : 'false'}
            onClick=${() => run(command)}
          >
            <span>${escaped(command.title)}</span>
            <small
              >${command.group}${command.key !== undefined && html` <kbd>${command.key.replace('Control+', 'Ctrl ')}</kbd>`}</small
            >
          </li>`,
      )}
    </ul>
    ${found.length === 0 ? html`<p>No command matches.</p>` : null}
  <//>`;
}

/** Commands whose title or group contains every word of `text`. */
function matching(all: readonly PageCommand[], text: string): readonly PageCommand[] {
  const words = text.toLowerCase().split(/\s+/);
  return all.filter(({ title, group }) => {
    const searched = `${group} ${title}`.toLowerCase();
    return words.every((word) => searched.includes(word));
  });
}
