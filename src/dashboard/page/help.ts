import { signal } from '@preact/signals';
import { commands } from './commands.ts';
import { Dialog } from './components/dialog.ts';
import { Choice } from './components/fields.ts';
import { html } from './html.ts';
import { letterKeys, theme, THEMES } from './settings.ts';

const open = signal(false);

/** Opens the list of keys of the current page. */
export const showHelp = (): void => {
  open.value = true;
};

/** The list of keys, and the switch for single letters. */
export function Help() {
  if (!open.value) return null;
  const groups = Map.groupBy(
    commands.value.filter(({ key }) => key !== undefined),
    ({ group }) => group,
  );
  const close = () => {
    open.value = false;
  };
  return html`<${Dialog} title="Keys and settings" onClose=${close}>
    <label class="option">
      <input
        type="checkbox"
        checked=${letterKeys.value === 'on'}
        onChange=${() => {
          letterKeys.value = letterKeys.value === 'on' ? 'off' : 'on';
        }}
      />
      Single letters are keys
    </label>
    <${Choice}
      label="Colours"
      value=${theme.value}
      options=${THEMES.map((name) => [name, name])}
      onChange=${(name: string) => {
        theme.value = THEMES.find((known) => known === name) ?? 'system';
      }}
    />
    <p class="dim">In a list: arrows, Page Up and Down, Home, End; Enter opens, Esc closes.</p>
    ${[...groups].map(
      ([group, list]) =>
        html`<h3>${group}</h3>
          <dl class="keys">
            ${list.map(
              ({ key = '', title }) =>
                html`<div>
                  <dt>
                    ${key.split(' ').map((part) => html`<kbd>${part.replace('Control+', 'Ctrl ')}</kbd> `)}
                  </dt>
                  <dd>${title}</dd>
                </div>`,
            )}
          </dl>`,
    )}
  <//>`;
}
